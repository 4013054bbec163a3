// What every end over iceoryx has beside its two ports: its membership, and the pair that keeps a queue
// from running over. iceoryx's own answer to a full queue is to sleep in publish or to drop the oldest
// message, and to a pool without chunks an error.
#pragma once

#include "../pair.hpp"
#include "membership.hpp"

#include <functional>
#include <utility>

namespace ipcmark {

class Link {
  public:
    // Starts the daemon or waits for it.
    int open(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error);

    // Registers this process and runs `body`, which makes the ports.
    int enter(std::function<void()> body, ipcmark_error *error) { return membership.enter(std::move(body), error); }

    // After the ports are gone: takes the registration back; the leader then waits a little for the
    // follower to do so too, and ends the daemon.
    void close();

    // Looked at where there is nothing to take or no room: DONE unless the daemon is gone.
    int check(ipcmark_error *error) const { return membership.check(error); }

    bool is_daemon_gone() const;

    Pair pair;

  private:
    Membership membership;
};

} // namespace ipcmark
