#include "membership.hpp"

#include "asking.hpp"
#include "runtime.hpp"

#include <utility>

#include <poll.h>
#include <unistd.h>

namespace ipcmark {

int Membership::open(const Pool &pool, const ipcmark_settings &settings, ipcmark_session *session,
                     ipcmark_error *error) {
    const bool leads = settings.role == IPCMARK_LEADER;
    if (int result = leads ? lead(pool, settings, session, error) : follow(session, error))
        return result;
    const std::string chunks = std::to_string(pool.count) + " chunks of " + std::to_string(pool.size) + " bytes";
    session->note(session, "pool", chunks.c_str());
    own_name = registration_name(settings.name, leads, settings.follower);
    return IPCMARK_DONE;
}

int Membership::enter(std::function<void()> body, ipcmark_error *error) {
    registered = true;
    std::string reason;
    const auto all = [name = own_name, body = std::move(body)] {
        register_runtime(name);
        body();
    };
    const auto wanted = [this] { return !is_daemon_gone(); };
    return ask_daemon(all, wanted, reason) ? IPCMARK_DONE : fail_to_enter(reason, error);
}

int Membership::fail_to_enter(const std::string &reason, ipcmark_error *error) const {
    if (daemon && is_daemon_gone())
        return daemon->fail_gone(error);
    ipcmark_fail(error, "register with", "iceoryx's daemon",
                 is_daemon_gone() ? "it has ended, and so has the leader" : reason.c_str(), nullptr);
    return is_daemon_gone() ? IPCMARK_PEER_GONE : IPCMARK_FAILED;
}

int Membership::lead(const Pool &pool, const ipcmark_settings &settings, ipcmark_session *session,
                     ipcmark_error *error) {
    daemon = std::make_unique<Daemon>();
    if (int result = daemon->start(pool, settings.directory, error))
        return result;
    life = daemon->life();
    for (uint32_t peer = 0; peer < session->peers; peer++)
        if (int result = session->send(session, peer, "ready", 5, &life, 1, error))
            return result;
    return IPCMARK_DONE;
}

int Membership::follow(ipcmark_session *session, ipcmark_error *error) {
    char word[8];
    size_t len = sizeof word, count = 1;
    if (int result = session->receive(session, 0, word, &len, &life, &count, error))
        return result;
    if (count == 1)
        return IPCMARK_DONE;
    return ipcmark_fail(error, "watch", "iceoryx's daemon", "the leader sent no descriptor of it", nullptr);
}

bool Membership::is_daemon_gone() const {
    pollfd ended{life, 0, 0};
    return life >= 0 && poll(&ended, 1, 0) > 0;
}

void Membership::leave(bool daemon_lives) {
    if (!registered)
        return;
    registered = false;
    if (daemon_lives)
        close_runtime();
    else
        abandon_runtime();
}

void Membership::close() {
    if (!daemon && life >= 0)
        ::close(life);
    life = -1;
    daemon.reset();
}

} // namespace ipcmark
