// What every end over iceoryx has beside its two ports: the daemon (the leader's), the runtime, and
// the accounts that keep a queue from running over.
//
// iceoryx's own answer to a full queue is to sleep in publish or to drop the oldest message, and to a
// pool without chunks an error. So each reader counts what it has given back in a line of shared
// memory, and a writer that has as many messages under way as a queue holds would block. It looks at
// the line only when what it knows is used up, once in a queue's depth.
#pragma once

#include "daemon.hpp"

#include <ipcmark/transport.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace ipcmark {

// Messages given back by one end, alone in its pair of cache lines.
struct alignas(128) Account {
    std::atomic<uint64_t> released;
};

class Link {
  public:
    Link() = default;
    Link(const Link &) = delete;
    Link &operator=(const Link &) = delete;

    // Starts the daemon or waits for it, registers this process, and maps the accounts.
    int open(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error);

    // After the ports are gone: takes the registration back; the leader then waits a little for the
    // follower to do so too, and ends the daemon.
    void close();

    // Whether one more message fits into the other end's queue.
    bool has_room() {
        if (sent - known < depth)
            return true;
        known = accounts[1 - own].released.load(std::memory_order_acquire);
        return sent - known < depth;
    }

    void count_sent() { ++sent; }
    void count_released() { accounts[own].released.store(++released, std::memory_order_release); }

    // Looked at where there is nothing to take or no room: DONE unless the daemon is gone.
    int check(ipcmark_error *error) const {
        return daemon && daemon->is_gone() ? daemon->fail_gone(error) : IPCMARK_DONE;
    }

    bool is_daemon_gone() const;

    uint64_t queue_depth() const { return depth; }

  private:
    int lead(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error);
    int follow(ipcmark_session *session, ipcmark_error *error);
    int map(int memory, ipcmark_error *error);
    void await_follower() const;

    std::unique_ptr<Daemon> daemon;
    bool registered = false;
    int life = -1; // Hangs up when the daemon ends.
    int peer = -1; // Closes when the other end has let go of the daemon.
    int own = 0;   // Which account is ours.
    Account *accounts = nullptr;
    uint64_t depth = 0;
    uint64_t sent = 0, known = 0, released = 0;
};

} // namespace ipcmark
