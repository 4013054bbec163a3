// A count of released messages in shared memory, and the sleep of senders until it rises.
//
// Senders sleep on a futex, which the receiver wakes only if one of them sleeps. Under `spin` nobody sleeps, and the
// receiver only stores its count.
#pragma once

#include "shared/cpp/patience.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ipcmark {

// In shared memory. Each part is alone in a pair of cache lines, because processors prefetch pairs.
class Released {
  public:
    // Acquire: the receiver's release of the messages happens before their room is used again.
    uint64_t now() const { return count.load(std::memory_order_acquire); }

    // Sleeps until the receiver wakes this sender, 10 ms at most, unless there is room in a queue of which the sender
    // knows by `is_full(count)`.
    template <typename IsFull> void sleep(IsFull is_full) {
        sleepers.fetch_add(1, std::memory_order_seq_cst);
        const auto seen = wakes.load(std::memory_order_seq_cst);
        if (is_full(count.load(std::memory_order_seq_cst)))
            syscall(SYS_futex, &wakes, FUTEX_WAIT, seen, &LONGEST_SLEEP);
        sleepers.fetch_sub(1, std::memory_order_relaxed);
    }

  private:
    friend class Releaser;

    // No call of an end that may lose messages may sleep longer. A library that works only within calls gets them as
    // often.
    static constexpr timespec LONGEST_SLEEP = {0, 10'000'000};

    alignas(128) std::atomic<uint64_t> count;
    alignas(128) std::atomic<uint32_t> sleepers;
    std::atomic<uint32_t> wakes; // A sleeper waits until this changes.
};

// The receiver of a queue with room for `limit` messages.
class Releaser {
  public:
    void open(Released *its_count, uint64_t limit, bool senders_sleep) {
        shared = its_count;
        // A wake costs more than a message, so sleepers are looked for once a quarter of the queue was released. One
        // that comes between two looks has seen that the queue was full: all of it is still to be released.
        step = std::max<uint64_t>(limit / 4, 1);
        next_look = senders_sleep ? step : UINT64_MAX;
    }

    void count_released() {
        if (++released < next_look)
            shared->count.store(released, std::memory_order_release);
        else
            look_for_sleepers();
    }

  private:
    void look_for_sleepers() {
        next_look = released + step;
        // Sequentially consistent, as in `sleep`: either this end sees the sleeper, or that one the new count.
        shared->count.store(released, std::memory_order_seq_cst);
        if (shared->sleepers.load(std::memory_order_seq_cst) == 0)
            return;
        shared->wakes.fetch_add(1, std::memory_order_seq_cst);
        // No more senders than there is room for messages.
        syscall(SYS_futex, &shared->wakes, FUTEX_WAKE, static_cast<int>(step));
    }

    Released *shared = nullptr;
    uint64_t released = 0, step = 1, next_look = UINT64_MAX;
};

} // namespace ipcmark
