// A bound on the unread messages from several followers to their leader, for a library that puts all of them into one
// queue and does not report the sender.
//
// A follower takes a unit from a shared budget before it publishes, and the leader returns it when it releases the
// message. FlowControl bounds the other direction, and both directions if there is one follower.
#pragma once

#include "shared/cpp/descriptors.hpp"

#include <atomic>
#include <cerrno>
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
    int open(bool leads, uint64_t depth, ipcmark_session *session, ipcmark_error *error) {
        limit = depth;
        int memory = -1;
        int result = leads ? lead(&memory, session, error) : follow(&memory, session, error);
        if (result == IPCMARK_DONE)
            result = map(memory, error);
        if (memory >= 0)
            ::close(memory);
        return result;
    }

    // True if a follower may send one more message, which from then on counts as sent.
    bool has_room() {
        if (is_taken)
            return true;
        auto sent = counts->sent.load(std::memory_order_relaxed);
        // Acquire: the leader's release of the messages happens before their room is used again.
        while (sent - counts->released.load(std::memory_order_acquire) < limit)
            if (counts->sent.compare_exchange_weak(sent, sent + 1, std::memory_order_relaxed))
                return is_taken = true;
        return false;
    }

    void count_sent() { is_taken = false; }
    void count_released() { counts->released.store(++released, std::memory_order_release); }

  private:
    // Each alone in a pair of cache lines, because processors prefetch pairs.
    struct Counts {
        alignas(128) std::atomic<uint64_t> sent;
        alignas(128) std::atomic<uint64_t> released;
    };

    static int lead(int *memory, ipcmark_session *session, ipcmark_error *error) {
        // ipcmark knows this name, and does not mistake the counts for the carrier of the messages.
        *memory = memfd_create("ipcmark-pair", MFD_CLOEXEC);
        if (*memory < 0 || ftruncate(*memory, sizeof(Counts)) != 0)
            return ipcmark_fail_errno(error, "make", "the counters of a queue", errno, nullptr);
        for (uint32_t peer = 0; peer < session->peers; peer++)
            if (const int result = session->send(session, peer, "budget", 6, memory, 1, error))
                return result;
        return IPCMARK_DONE;
    }

    static int follow(int *memory, ipcmark_session *session, ipcmark_error *error) {
        int fds[1];
        const int result =
            receive_descriptors(session, fds, "open", "the counters of a queue", "the leader sent none", error);
        if (result == IPCMARK_DONE)
            *memory = fds[0];
        return result;
    }

    int map(int memory, ipcmark_error *error) {
        void *mapped = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, memory, 0);
        if (mapped == MAP_FAILED)
            return ipcmark_fail_errno(error, "map", "the counters of a queue", errno, nullptr);
        counts = static_cast<Counts *>(mapped);
        return IPCMARK_DONE;
    }

    Counts *counts = nullptr;
    uint64_t limit = 0, released = 0;
    bool is_taken = false; // A unit of the budget is reserved for the next message.
};

} // namespace ipcmark
