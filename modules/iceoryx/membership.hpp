// A session's place in iceoryx: its daemon, which the leader starts, and the registration of this
// process with it.
#pragma once

#include "daemon.hpp"

#include <functional>
#include <memory>
#include <string>

namespace ipcmark {

class Membership {
  public:
    // Starts the daemon with one pool or waits for it.
    int open(const Pool &pool, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error);

    // Registers this process and runs `body`, which asks the daemon too. Where the daemon dies meanwhile
    // the body stays behind in a thread of its own, and PEER_GONE or FAILED tells so.
    int enter(std::function<void()> body, ipcmark_error *error);

    // Looked at where there is nothing to take or no room: DONE unless the daemon is gone. Only the
    // leader knows; followers miss the leader.
    int check(ipcmark_error *error) const {
        return daemon && daemon->is_gone() ? daemon->fail_gone(error) : IPCMARK_DONE;
    }

    bool is_daemon_gone() const;

    // Whether the daemon is this process's own.
    bool leads() const { return daemon != nullptr; }

    // Takes the registration back, after everything made with it is gone.
    void leave(bool daemon_lives);

    // Ends the daemon, once every process has left.
    void close();

    ~Membership() { close(); }

  private:
    int lead(const Pool &pool, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error);
    int follow(ipcmark_session *session, ipcmark_error *error);

    int fail_to_enter(const std::string &reason, ipcmark_error *error) const;

    std::unique_ptr<Daemon> daemon;
    std::string own_name;
    bool registered = false;
    int life = -1; // Hangs up when the daemon ends.
};

} // namespace ipcmark
