// Flow control between two endpoints, in addition to the library: it bounds the unreleased messages in each direction,
// and detects that the other end has closed.
//
// Libraries handle a full queue in different ways: they sleep, drop the oldest message or fail. So each endpoint counts
// the messages that it has released in a cache line of shared memory, and a sender with as many unreleased messages as
// a queue holds would block: under `spin` it is told so, under `block` it sleeps until a part of the queue was
// released. It reads the peer's count only when the last value that it read is used up, once every `depth` messages.
#pragma once

#include "shared/cpp/counters.hpp"
#include "shared/cpp/descriptors.hpp"
#include "shared/cpp/released.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ipcmark {

class FlowControl {
  public:
    FlowControl() = default;
    FlowControl(const FlowControl &) = delete;
    FlowControl &operator=(const FlowControl &) = delete;
    ~FlowControl() { close(); }

    // Connects the leader with the follower that has the number `peer`. From then on at most `depth` messages are
    // unreleased in each direction. Both ends must give the same `wait`, one bit of enum ipcmark_wait.
    int open(bool leads, uint64_t depth, ipcmark_session *session, ipcmark_error *error, uint32_t peer = 0,
             uint32_t wait = IPCMARK_SPIN) {
        limit = depth;
        patience = Patience(wait);
        if (const int result = leads ? lead(session, peer, error) : follow(session, error))
            return result;
        theirs = &counts->of[leads ? 1 : 0];
        own.open(&counts->of[leads ? 0 : 1], limit, patience.may_sleep());
        return IPCMARK_DONE;
    }

    // The same for a library without a limit of its own: allows as many messages as fit in 8 MiB. The result states the
    // number.
    int open_bounded(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error,
                     uint32_t peer = 0) {
        const uint64_t depth = std::clamp<uint64_t>(HELD_BYTES / settings.payload, LEAST_DEPTH, MOST_DEPTH);
        session->note(session, "under way", ("at most " + std::to_string(depth) + " messages").c_str());
        return open(settings.role == IPCMARK_LEADER, depth, session, error, peer, settings.wait);
    }

    // True if one more message may be sent. If there is no room, an end sleeps until there is, if its wait says so:
    // 10 ms at most.
    bool has_room() { return sent - acknowledged < limit || look_for_room() || sleep(); }

    void count_sent() { ++sent; }
    void count_released() { own.count_released(); }
    uint64_t depth() const { return limit; }

    // True if the other end has closed, or died.
    bool is_peer_closed() const {
        pollfd hang_up{connection, 0, 0};
        return connection >= 0 && poll(&hang_up, 1, 0) > 0;
    }

    // True if this end slept for room in vain, because the other one has closed, or died.
    bool is_abandoned() const { return abandoned; }

    // A descriptor that hangs up when the other end has closed, or died.
    int hang_up() const { return connection; }

    using Clock = std::chrono::steady_clock;

    // Waits until the other end has closed, at most until the deadline.
    void await_peer_close(Clock::time_point deadline = Clock::now() + std::chrono::seconds(2)) const {
        pollfd hang_up{connection, 0, 0};
        while (connection >= 0 && poll(&hang_up, 1, milliseconds_until(deadline)) < 0 && errno == EINTR) {
        }
    }

    // Tells the other end that this one has closed.
    void close() {
        if (connection >= 0)
            ::close(connection);
        connection = -1;
        if (counts)
            munmap(counts, sizeof *counts);
        counts = nullptr;
    }

  private:
    static constexpr uint64_t HELD_BYTES = 8u << 20;
    static constexpr uint64_t LEAST_DEPTH = 2, MOST_DEPTH = 1024;

    struct Counts {
        Released of[2];
    };
    static constexpr const char *OBJECT = "the counters of a queue";

    bool look_for_room() {
        acknowledged = theirs->now();
        if (sent - acknowledged >= limit)
            return false;
        patience.renew();
        return true;
    }

    bool sleep() {
        if (!patience.is_over())
            return false;
        theirs->sleep([this](uint64_t released) { return sent - released >= limit; });
        if (look_for_room())
            return true;
        abandoned = is_peer_closed();
        return false;
    }

    static int milliseconds_until(Clock::time_point deadline) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
        return left.count() > 0 ? static_cast<int>(left.count()) : 0;
    }

    int lead(ipcmark_session *session, uint32_t peer, ipcmark_error *error) {
        int fds[] = {-1, -1};
        int result = make_counters(sizeof *counts, OBJECT, &fds[0], error);
        if (result == IPCMARK_DONE)
            result = connect(&fds[1], error);
        if (result == IPCMARK_DONE)
            result = map_counters(fds[0], OBJECT, &counts, error);
        if (result == IPCMARK_DONE)
            result = session->send(session, peer, "flow", 4, fds, 2, error);
        for (const int fd : fds)
            if (fd >= 0)
                ::close(fd);
        return result;
    }

    int connect(int *theirs, ipcmark_error *error) {
        int sockets[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
            return ipcmark_fail_errno(error, "make", OBJECT, errno, nullptr);
        connection = sockets[0];
        *theirs = sockets[1];
        return IPCMARK_DONE;
    }

    int follow(ipcmark_session *session, ipcmark_error *error) {
        int fds[2];
        if (const int result = receive_descriptors(session, fds, "open", OBJECT, "the leader sent none", error))
            return result;
        connection = fds[1];
        const int result = map_counters(fds[0], OBJECT, &counts, error);
        ::close(fds[0]);
        return result;
    }

    int connection = -1; // Hangs up when the other end closes.
    Counts *counts = nullptr;
    Released *theirs = nullptr; // The peer's count.
    Releaser own;
    Patience patience;
    bool abandoned = false;
    uint64_t limit = 0, sent = 0, acknowledged = 0;
};

} // namespace ipcmark
