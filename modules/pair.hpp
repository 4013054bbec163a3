// Two ends that know of each other beside the library: what is under way in each direction, and when
// the other end has closed.
//
// Libraries answer a full queue in ways of their own: they sleep, drop the oldest message or fail.
// So each end counts the messages that it has given back in a line of shared memory, and an end that
// has as many under way as a queue holds would block. It looks at the other's line only when what it
// knows is used up, once in a queue's depth.
#pragma once

#include <ipcmark/transport.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ipcmark {

class Pair {
  public:
    Pair() = default;
    Pair(const Pair &) = delete;
    Pair &operator=(const Pair &) = delete;

    // Connects the two ends, the leader's with the peer of that number. No more than `depth` messages
    // are then under way in a direction.
    int open(bool leads, uint64_t depth, ipcmark_session *session, ipcmark_error *error, uint32_t peer = 0) {
        most = depth;
        own = leads ? 0 : 1;
        return leads ? lead(session, peer, error) : follow(session, error);
    }

    // Whether one more message fits.
    bool has_room() {
        if (sent - known < most)
            return true;
        known = counts[1 - own].released.load(std::memory_order_acquire);
        return sent - known < most;
    }

    void count_sent() { ++sent; }
    void count_released() { counts[own].released.store(++released, std::memory_order_release); }
    uint64_t depth() const { return most; }

    // Whether the other end has closed, or died.
    bool is_alone() const {
        pollfd closed{other, 0, 0};
        return other >= 0 && poll(&closed, 1, 0) > 0;
    }

    using Clock = std::chrono::steady_clock;

    // Waits until the other end has closed, at most until the deadline.
    void await_other(Clock::time_point deadline = Clock::now() + std::chrono::seconds(2)) const {
        pollfd closed{other, 0, 0};
        while (other >= 0 && poll(&closed, 1, milliseconds_until(deadline)) < 0 && errno == EINTR) {
        }
    }

    // Tells the other end that this one has closed.
    void close() {
        if (other >= 0)
            ::close(other);
        other = -1;
        if (counts)
            munmap(counts, BYTES);
        counts = nullptr;
    }

    ~Pair() { close(); }

  private:
    // What an end has given back, alone in its pair of cache lines.
    struct alignas(128) Count {
        std::atomic<uint64_t> released;
    };
    static constexpr size_t BYTES = 2 * sizeof(Count);

    static int milliseconds_until(Clock::time_point deadline) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
        return left.count() > 0 ? static_cast<int>(left.count()) : 0;
    }

    int lead(ipcmark_session *session, uint32_t peer, ipcmark_error *error) {
        const int memory = memfd_create("ipcmark-pair", MFD_CLOEXEC);
        int sockets[2] = {-1, -1};
        int result = IPCMARK_DONE;
        if (memory < 0 || ftruncate(memory, BYTES) != 0 ||
            socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
            result = ipcmark_fail_errno(error, "make", "the counters of a queue", errno, nullptr);
        other = sockets[0];
        if (result == IPCMARK_DONE)
            result = map(memory, error);
        const int fds[] = {memory, sockets[1]};
        if (result == IPCMARK_DONE)
            result = session->send(session, peer, "pair", 4, fds, 2, error);
        for (int fd : fds)
            if (fd >= 0)
                ::close(fd);
        return result;
    }

    int follow(ipcmark_session *session, ipcmark_error *error) {
        char word[8];
        int fds[2];
        size_t len = sizeof word, count = 2;
        if (int result = session->receive(session, 0, word, &len, fds, &count, error))
            return result;
        if (count != 2)
            return ipcmark_fail(error, "open", "the counters of a queue", "the leader sent none", nullptr);
        other = fds[1];
        const int result = map(fds[0], error);
        ::close(fds[0]);
        return result;
    }

    int map(int memory, ipcmark_error *error) {
        void *mapped = mmap(nullptr, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, memory, 0);
        if (mapped == MAP_FAILED)
            return ipcmark_fail_errno(error, "map", "the counters of a queue", errno, nullptr);
        counts = static_cast<Count *>(mapped);
        return IPCMARK_DONE;
    }

    int other = -1; // Hangs up when the other end closes.
    int own = 0;    // Which count is ours.
    Count *counts = nullptr;
    uint64_t most = 0, sent = 0, known = 0, released = 0;
};

} // namespace ipcmark
