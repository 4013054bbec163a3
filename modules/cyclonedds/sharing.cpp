#include "sharing.hpp"

#include "room.hpp"

#include <chrono>

#include <dds/ddsi/ddsi_shm_transport.h>

namespace cyclonedds_module {

namespace {

constexpr std::chrono::seconds CLOSED_WITHIN{2};

// What stands before a message in a chunk: the library's own head, which is aligned, and ours.
constexpr size_t HEAD = 64 + sizeof(iceoryx_header_t) + ROOM_HEAD;

} // namespace

Sharing::Sharing(const Plan &plan)
    : peers(plan.leads ? plan.followers : 1), depth(plan.history), payload(plan.payload), leads(plan.leads),
      pairs(std::make_unique<ipcmark::Pair[]>(peers)) {}

// Chunks for every end: its history full, one on loan, one kept by the publisher, two to spare. Sizes
// of pools are multiples of 32.
static ipcmark::Pool pool_for(uint32_t ends, uint64_t depth, uint64_t payload) {
    return {(payload + HEAD + 31) / 32 * 32, ends * (depth + 4)};
}

void Sharing::open(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    for (uint32_t peer = 0; peer < peers; peer++)
        proceed(pairs[peer].open(leads, depth, session, error, peer));
    const auto pool = pool_for(1 + settings.subscribers, depth, payload);
    proceed(membership.open(pool, settings, session, error));
}

bool Sharing::is_daemon_gone() const {
    // A leader that is gone takes its daemon along.
    return membership.is_daemon_gone() || (!leads && pairs[0].is_alone());
}

void Sharing::close(bool all_is_gone) {
    membership.leave(all_is_gone && !is_daemon_gone());
    const auto deadline = std::chrono::steady_clock::now() + CLOSED_WITHIN;
    for (uint32_t peer = 0; leads && peer < peers; peer++)
        pairs[peer].await_other(deadline);
    for (uint32_t peer = 0; peer < peers; peer++)
        pairs[peer].close();
    membership.close();
}

} // namespace cyclonedds_module
