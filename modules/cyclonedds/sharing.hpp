// What the row cyclonedds-iceoryx has beside the library: iceoryx's daemon and membership, and the pairs
// that keep histories from running over. The library drops the oldest message of a history that is
// full, for it shares memory only with histories that keep the last.
#pragma once

#include "cyclonedds.hpp"

#include "../iceoryx/membership.hpp"
#include "../pair.hpp"

#include <functional>
#include <memory>
#include <utility>

namespace cyclonedds_module {

class Sharing {
  public:
    explicit Sharing(const Plan &plan);

    // Starts the daemon or waits for it, and connects the counters of every pair of ends.
    void open(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error);

    // Registers with the daemon and runs `body`, which makes what is to be shared.
    void enter(std::function<void()> body, ipcmark_error *error) { proceed(membership.enter(std::move(body), error)); }

    // Whether no other end has as many messages under way as its history keeps.
    bool has_room() {
        for (uint32_t peer = 0; peer < peers; peer++)
            if (!pairs[peer].has_room())
                return false;
        return true;
    }

    void count_sent() {
        for (uint32_t peer = 0; peer < peers; peer++)
            pairs[peer].count_sent();
    }

    void count_released(uint32_t sender) { pairs[leads ? sender : 0].count_released(); }

    // Looked at where there is nothing to take or no room: DONE unless the daemon is gone.
    int check(ipcmark_error *error) const { return membership.check(error); }

    // Without the daemon nothing can be given back to it, for that asks it.
    bool is_daemon_gone() const;

    // After all of the library is gone, or where it cannot go: leaves, and ends the daemon once the
    // others have left too, or after two seconds.
    void close(bool all_is_gone);

  private:
    uint32_t peers;
    uint64_t depth, payload;
    bool leads;
    std::unique_ptr<ipcmark::Pair[]> pairs;
    ipcmark::Membership membership;
};

} // namespace cyclonedds_module
