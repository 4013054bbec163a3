// A bound on the unread messages from several followers to their leader, for a library that puts all of them into one
// queue and does not report the sender.
//
// A follower takes a unit from a shared budget before it publishes, and the leader returns it when it releases the
// message. A follower that may sleep does so if no unit is left. FlowControl bounds the other direction, and both
// directions if there is one follower.
#pragma once

#include "shared/cpp/counters.hpp"
#include "shared/cpp/descriptors.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
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
    // All ends must agree on whether followers may sleep.
    int open(bool leads, uint64_t depth, bool may_sleep, ipcmark_session *session, ipcmark_error *error) {
        limit = depth;
        sleeps = may_sleep;
        int memory = -1;
        int result = leads ? lead(&memory, session, error) : follow(&memory, session, error);
        if (result == IPCMARK_DONE)
            result = map_counters(memory, OBJECT, &counts, error);
        if (memory >= 0)
            ::close(memory);
        return result;
    }

    // True if a follower may send one more message, which from then on counts as sent. If there is no room, and it may
    // sleep, it sleeps until there is, 100 ms at most.
    bool has_room() {
        if (is_taken || take_unit())
            return true;
        if (!sleeps)
            return false;
        sleep();
        return take_unit();
    }

    void count_sent() { is_taken = false; }

    void count_released() {
        if (!sleeps) {
            counts->released.store(++released, std::memory_order_release);
            return;
        }
        // Sequentially consistent, as in `sleep`: either this end sees the sleeper, or that one the new count.
        counts->released.store(++released, std::memory_order_seq_cst);
        if (released - woken >= units_of_a_wake() && counts->sleepers.load(std::memory_order_seq_cst) > 0)
            wake();
    }

  private:
    // Each alone in a pair of cache lines, because processors prefetch pairs.
    struct Counts {
        alignas(128) std::atomic<uint64_t> sent;
        alignas(128) std::atomic<uint64_t> released;
        alignas(128) std::atomic<uint32_t> sleepers;
        std::atomic<uint32_t> wakes; // A sleeper waits until this changes.
    };

    static constexpr const char *OBJECT = "the counters of a queue";
    static constexpr timespec LONGEST_SLEEP = {0, 100'000'000};

    bool take_unit() {
        auto sent = counts->sent.load(std::memory_order_relaxed);
        // Acquire: the leader's release of the messages happens before their room is used again.
        while (sent - counts->released.load(std::memory_order_acquire) < limit)
            if (counts->sent.compare_exchange_weak(sent, sent + 1, std::memory_order_relaxed))
                return is_taken = true;
        return false;
    }

    void sleep() {
        counts->sleepers.fetch_add(1, std::memory_order_seq_cst);
        const auto seen = counts->wakes.load(std::memory_order_seq_cst);
        const auto released_now = counts->released.load(std::memory_order_seq_cst);
        if (counts->sent.load(std::memory_order_relaxed) - released_now >= limit)
            syscall(SYS_futex, &counts->wakes, FUTEX_WAIT, seen, &LONGEST_SLEEP);
        counts->sleepers.fetch_sub(1, std::memory_order_relaxed);
    }

    // A wake costs more than a message. So followers are woken once a quarter of the units has been returned, no more
    // than there are units. Who sleeps has seen that none was left: all of them are still to be returned.
    uint64_t units_of_a_wake() const { return std::max<uint64_t>(limit / 4, 1); }

    void wake() {
        woken = released;
        counts->wakes.fetch_add(1, std::memory_order_seq_cst);
        syscall(SYS_futex, &counts->wakes, FUTEX_WAKE, static_cast<int>(units_of_a_wake()));
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
    uint64_t limit = 0, released = 0, woken = 0; // `woken`: the count of released messages at the last wake.
    bool sleeps = false;
    bool is_taken = false; // A unit of the budget is reserved for the next message.
};

} // namespace ipcmark
