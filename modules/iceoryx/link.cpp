#include "link.hpp"

#include "../options.hpp"

#include <algorithm>
#include <string>

namespace ipcmark {

namespace {

constexpr size_t QUEUE_BYTES = 8u << 20;
constexpr uint64_t LEAST_DEPTH = 2, MOST_DEPTH = 128;

// What a queue holds.
uint64_t depth_for(const ipcmark_settings &settings) {
    return number(settings, "depth", std::clamp<uint64_t>(QUEUE_BYTES / settings.payload, LEAST_DEPTH, MOST_DEPTH));
}

// Chunks for both directions: each queue full, one on loan, one kept by the publisher, one taken.
// Sizes of pools are multiples of 32.
Pool pool_for(const ipcmark_settings &settings) {
    return Pool{(settings.payload + 31) / 32 * 32 + 32, 2 * (depth_for(settings) + 3)};
}

} // namespace

int Link::open(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    const bool leads = settings.role == IPCMARK_LEADER;
    if (int result = pair.open(leads, depth_for(settings), session, error))
        return result;
    session->note(session, "queue", (std::to_string(depth_for(settings)) + " messages").c_str());
    session->note(session, "policies", "publisher waits for consumer, queue blocks producer");
    return membership.open(pool_for(settings), settings, session, error);
}

bool Link::is_daemon_gone() const {
    // A leader that is gone takes its daemon along.
    return membership.is_daemon_gone() || (!membership.leads() && pair.is_alone());
}

void Link::close() {
    membership.leave(!is_daemon_gone());
    if (membership.leads())
        pair.await_other();
    pair.close();
    membership.close();
}

} // namespace ipcmark
