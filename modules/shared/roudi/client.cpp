#include "shared/roudi/client.hpp"

#include "shared/cpp/descriptors.hpp"
#include "shared/roudi/runtime.hpp"

#include <chrono>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace ipcmark {

namespace {

constexpr std::chrono::seconds CLOSED_WITHIN{2};

} // namespace

int Client::open(const Pool &pool, uint64_t depth, const ipcmark_settings &settings, const Deadline &deadline,
                 ipcmark_session *session, ipcmark_error *error) {
    leads = settings.role == IPCMARK_LEADER;
    name = registration_name(settings.name, leads, settings.follower);
    if (const int result = connect(depth, settings.wait, session, error))
        return result;
    if (const int result =
            leads ? start_daemon(pool, settings.directory, deadline, session, error) : await_daemon(session, error))
        return result;
    const std::string chunks = std::to_string(pool.count) + " chunks of " + std::to_string(pool.size) + " bytes";
    session->note(session, "pool", chunks.c_str());
    return IPCMARK_DONE;
}

int Client::connect(uint64_t depth, uint32_t wait, ipcmark_session *session, ipcmark_error *error) {
    if (session->peers > MOST_FOLLOWERS)
        return ipcmark_fail(error, "connect", "the followers", "there are more than 64", nullptr);
    peers = session->peers;
    for (uint32_t peer = 0; peer < peers; peer++)
        if (const int result = flows[peer].open(leads, depth, session, error, peer, wait))
            return result;
    return IPCMARK_DONE;
}

int Client::start_daemon(const Pool &pool, const char *directory, const Deadline &deadline, ipcmark_session *session,
                         ipcmark_error *error) {
    daemon = std::make_unique<Daemon>();
    if (const int result = daemon->start(pool, directory, deadline, error))
        return result;
    lifeline = daemon->lifeline();
    for (uint32_t peer = 0; peer < peers; peer++)
        if (const int result = session->send(session, peer, "ready", 5, &lifeline, 1, error))
            return result;
    return IPCMARK_DONE;
}

int Client::await_daemon(ipcmark_session *session, ipcmark_error *error) {
    int fds[1];
    const int result =
        receive_descriptors(session, fds, "watch", "iceoryx's daemon", "the leader sent no descriptor of it", error);
    if (result == IPCMARK_DONE)
        lifeline = fds[0];
    return result;
}

int Client::enter(std::function<void()> body, ipcmark_error *error) {
    is_registered = true;
    std::string reason;
    const auto all = [registration = name, body = std::move(body)] {
        register_runtime(registration);
        body();
    };
    const auto is_wanted = [this] { return !has_lifeline_ended(); };
    return call_daemon(all, is_wanted, reason) ? IPCMARK_DONE : fail_to_enter(reason, error);
}

int Client::fail_to_enter(const std::string &reason, ipcmark_error *error) const {
    const bool is_gone = has_lifeline_ended();
    if (daemon && is_gone)
        return daemon->fail_gone(error);
    ipcmark_fail(error, "register with", "iceoryx's daemon",
                 is_gone ? "it has ended, and so has the leader" : reason.c_str(), nullptr);
    return is_gone ? IPCMARK_PEER_GONE : IPCMARK_FAILED;
}

bool Client::has_lifeline_ended() const {
    pollfd hang_up{lifeline, 0, 0};
    return lifeline >= 0 && poll(&hang_up, 1, 0) > 0;
}

bool Client::is_daemon_gone() const {
    // The leader's death ends the daemon.
    return has_lifeline_ended() || (!leads && flows[0].is_peer_closed());
}

void Client::close(bool is_library_done) {
    if (std::exchange(is_registered, false)) {
        if (is_library_done && !is_daemon_gone())
            close_runtime();
        else
            abandon_runtime();
    }
    const auto deadline = FlowControl::Clock::now() + CLOSED_WITHIN;
    for (uint32_t peer = 0; leads && peer < peers; peer++)
        flows[peer].await_peer_close(deadline);
    for (auto &flow : flows)
        flow.close();
    release_daemon();
}

void Client::release_daemon() {
    if (!daemon && lifeline >= 0)
        ::close(lifeline);
    lifeline = -1;
    daemon.reset();
}

} // namespace ipcmark
