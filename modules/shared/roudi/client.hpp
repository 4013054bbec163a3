// An endpoint's use of iceoryx's daemon, which the leader starts and every endpoint registers with, and flow control
// towards the other endpoints. iceoryx itself handles a full queue by sleeping in publish or by dropping the oldest
// message, and an empty pool is an error.
#pragma once

#include "shared/cpp/flow_control.hpp"
#include "shared/roudi/daemon.hpp"

#include <functional>
#include <memory>
#include <string>

namespace ipcmark {

class Client {
  public:
    static constexpr uint32_t MOST_FOLLOWERS = 64;

    // Starts the daemon with one pool, or waits until the leader has started it. From then on at most `depth` messages
    // are unreleased between this endpoint and each other one.
    int open(const Pool &pool, uint64_t depth, const ipcmark_settings &settings, const Deadline &deadline,
             ipcmark_session *session, ipcmark_error *error);

    // Registers this process and runs `body`, which makes the objects that the daemon owns. If the daemon dies
    // meanwhile, the body is abandoned, and the result is PEER_GONE or FAILED.
    int enter(std::function<void()> body, ipcmark_error *error);

    // True if no other endpoint has `depth` unreleased messages of this one. A sender that may sleep does so until it
    // is true, 10 ms at most for each.
    bool has_room() {
        for (uint32_t peer = 0; peer < peers; peer++)
            if (!flows[peer].has_room())
                return false;
        return true;
    }

    void count_sent() {
        for (uint32_t peer = 0; peer < peers; peer++)
            flows[peer].count_sent();
    }

    // `follower` sent the message; a follower has one peer, the leader.
    void count_released(uint32_t follower = 0) { flows[leads ? follower : 0].count_released(); }

    // Called if there is nothing to take or no room: DONE unless the daemon is gone. Only the leader can detect it;
    // followers detect that the leader is gone.
    int check(ipcmark_error *error) const {
        return daemon && daemon->is_gone() ? daemon->fail_gone(error) : IPCMARK_DONE;
    }

    // Nothing can be returned to a daemon that is gone, because returning calls it.
    bool is_daemon_gone() const;

    // Removes the registration, unless an object of the library is still in use; the leader then waits until the
    // followers have closed, two seconds at most, and ends the daemon.
    void close(bool is_library_done = true);

    ~Client() { release_daemon(); }

  private:
    int connect(uint64_t depth, uint32_t wait, ipcmark_session *session, ipcmark_error *error);
    int start_daemon(const Pool &pool, const char *directory, const Deadline &deadline, ipcmark_session *session,
                     ipcmark_error *error);
    int await_daemon(ipcmark_session *session, ipcmark_error *error);
    int fail_to_enter(const std::string &reason, ipcmark_error *error) const;
    bool has_lifeline_ended() const;
    void release_daemon();

    bool leads = false;
    uint32_t peers = 0;
    FlowControl flows[MOST_FOLLOWERS]; // One for each peer.
    std::unique_ptr<Daemon> daemon;    // Only in the leader.
    int lifeline = -1;                 // Hangs up when the daemon ends.
    std::string name;                  // Of the registration.
    bool is_registered = false;
};

} // namespace ipcmark
