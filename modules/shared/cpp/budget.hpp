// A bound on the unread messages from several followers to their leader, for a library that puts all of them into one
// queue and does not report the sender.
//
// A follower takes a unit from a shared budget before it publishes, and the leader returns it when it releases the
// message. A follower that may sleep does so if no unit is left. FlowControl bounds the other direction, and both
// directions if there is one follower.
#pragma once

#include "shared/cpp/counters.hpp"
#include "shared/cpp/descriptors.hpp"
#include "shared/cpp/released.hpp"

#include <atomic>
#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

namespace ipcmark {

class Budget {
  public:
    Budget() = default;
    Budget(const Budget &) = delete;
    Budget &operator=(const Budget &) = delete;
    ~Budget() {
        if (counts)
            munmap(counts, sizeof *counts);
    }

    // Connects the leader with all followers. From then on these have at most `depth` unreleased messages together.
    // All ends must give the same `wait`, one bit of enum ipcmark_wait.
    int open(bool leads, uint64_t depth, uint32_t wait, ipcmark_session *session, ipcmark_error *error) {
        limit = depth;
        patience = Patience(wait);
        int memory = -1;
        int result = leads ? lead(&memory, session, error) : follow(&memory, session, error);
        if (result == IPCMARK_DONE)
            result = map_counters(memory, OBJECT, &counts, error);
        if (result == IPCMARK_DONE)
            releaser.open(&counts->released, limit, patience.may_sleep());
        if (memory >= 0)
            ::close(memory);
        return result;
    }

    // True if a follower may send one more message, which from then on counts as sent. If there is no room, it sleeps
    // until there is, if its wait says so: 10 ms at most.
    bool has_room() { return is_taken || take_unit() || sleep(); }

    void count_sent() { is_taken = false; }

    void count_released() { releaser.count_released(); }

  private:
    struct Counts {
        alignas(128) std::atomic<uint64_t> sent; // Alone in a pair of cache lines.
        Released released;
    };

    static constexpr const char *OBJECT = "the counters of a queue";

    bool take_unit() {
        auto sent = counts->sent.load(std::memory_order_relaxed);
        while (sent - counts->released.now() < limit)
            if (counts->sent.compare_exchange_weak(sent, sent + 1, std::memory_order_relaxed)) {
                patience.renew();
                return is_taken = true;
            }
        return false;
    }

    bool sleep() {
        if (!patience.is_over())
            return false;
        counts->released.sleep(
            [this](uint64_t released) { return counts->sent.load(std::memory_order_relaxed) - released >= limit; });
        return take_unit();
    }

    static int lead(int *memory, ipcmark_session *session, ipcmark_error *error) {
        if (const int result = make_counters(sizeof(Counts), OBJECT, memory, error))
            return result;
        for (uint32_t peer = 0; peer < session->peers; peer++)
            if (const int result = session->send(session, peer, "budget", 6, memory, 1, error))
                return result;
        return IPCMARK_DONE;
    }

    static int follow(int *memory, ipcmark_session *session, ipcmark_error *error) {
        int fds[1];
        const int result = receive_descriptors(session, fds, "open", OBJECT, "the leader sent none", error);
        if (result == IPCMARK_DONE)
            *memory = fds[0];
        return result;
    }

    Counts *counts = nullptr;
    Releaser releaser; // The leader's.
    Patience patience;
    uint64_t limit = 0;
    bool is_taken = false; // A unit of the budget is reserved for the next message.
};

} // namespace ipcmark
