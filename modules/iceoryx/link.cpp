#include "link.hpp"

#include "runtime.hpp"

#include <algorithm>
#include <string>

namespace ipcmark {

namespace {

constexpr size_t QUEUE_BYTES = 8u << 20;
constexpr uint64_t LEAST_DEPTH = 2, MOST_DEPTH = 128;

// What a queue holds.
uint64_t depth_for(uint64_t payload) {
    return std::clamp<uint64_t>(QUEUE_BYTES / payload, LEAST_DEPTH, MOST_DEPTH);
}

// Chunks for both directions: each queue full, one on loan, one kept by the publisher, one taken.
// Sizes of pools are multiples of 32.
Pool pool_for(uint64_t payload) {
    return Pool{(payload + 31) / 32 * 32 + 32, 2 * (depth_for(payload) + 3)};
}

void note_settings(uint64_t payload, ipcmark_session *session) {
    const Pool pool = pool_for(payload);
    const std::string chunks = std::to_string(pool.count) + " chunks of " + std::to_string(pool.size) + " bytes";
    session->note(session, "pool", chunks.c_str());
    session->note(session, "queue", (std::to_string(depth_for(payload)) + " messages").c_str());
    session->note(session, "policies", "publisher waits for consumer, queue blocks producer");
}

} // namespace

int Link::open(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    const bool leads = settings.role == IPCMARK_LEADER;
    if (int result = pair.open(leads, depth_for(settings.payload), session, error))
        return result;
    if (int result = leads ? lead(settings, session, error) : follow(session, error))
        return result;
    note_settings(settings.payload, session);
    if (!open_runtime(registration_name(settings.name, leads)))
        return ipcmark_fail(error, "register with", "iceoryx's daemon", "it does not answer", nullptr);
    registered = true;
    return IPCMARK_DONE;
}

int Link::lead(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    daemon = std::make_unique<Daemon>();
    if (int result = daemon->start(pool_for(settings.payload), settings.directory, error))
        return result;
    life = daemon->life();
    return session->send(session, 0, "ready", 5, &life, 1, error);
}

int Link::follow(ipcmark_session *session, ipcmark_error *error) {
    char word[8];
    size_t len = sizeof word, count = 1;
    if (int result = session->receive(session, 0, word, &len, &life, &count, error))
        return result;
    if (count == 1)
        return IPCMARK_DONE;
    return ipcmark_fail(error, "watch", "iceoryx's daemon", "the leader sent no descriptor of it", nullptr);
}

bool Link::is_daemon_gone() const {
    pollfd ended{life, 0, 0};
    // A leader that is gone takes its daemon along.
    return (life >= 0 && poll(&ended, 1, 0) > 0) || (!daemon && pair.is_alone());
}

void Link::close() {
    if (registered) {
        if (is_daemon_gone())
            abandon_runtime();
        else
            close_runtime();
    }
    registered = false;
    if (daemon)
        pair.await_other();
    else if (life >= 0)
        ::close(life);
    life = -1;
    pair.close();
    daemon.reset();
}

} // namespace ipcmark
