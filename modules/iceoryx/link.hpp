// What every end over iceoryx has beside its two ports: the daemon (the leader's), the runtime, and
// the pair that keeps a queue from running over: iceoryx's own answer to a full queue is to sleep in
// publish or to drop the oldest message, and to a pool without chunks an error.
#pragma once

#include "../pair.hpp"
#include "daemon.hpp"

#include <memory>

namespace ipcmark {

class Link {
  public:
    // Starts the daemon or waits for it, and registers this process.
    int open(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error);

    // After the ports are gone: takes the registration back; the leader then waits a little for the
    // follower to do so too, and ends the daemon.
    void close();

    // Looked at where there is nothing to take or no room: DONE unless the daemon is gone.
    int check(ipcmark_error *error) const {
        return daemon && daemon->is_gone() ? daemon->fail_gone(error) : IPCMARK_DONE;
    }

    bool is_daemon_gone() const;

    Pair pair;

  private:
    int lead(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error);
    int follow(ipcmark_session *session, ipcmark_error *error);

    std::unique_ptr<Daemon> daemon;
    bool registered = false;
    int life = -1; // Hangs up when the daemon ends.
};

} // namespace ipcmark
