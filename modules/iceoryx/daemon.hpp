// iceoryx's daemon, iox-roudi, started for one session and ended with it.
#pragma once

#include <ipcmark/transport.h>

#include <atomic>
#include <string>
#include <thread>

#include <sys/types.h>

namespace ipcmark {

// What the daemon is to make room for: one pool of equal chunks.
struct Pool {
    size_t size;
    size_t count;
};

// A daemon of our own. Its names in /tmp and /dev/shm are fixed, so outside a sandbox there can be
// only one on a machine.
class Daemon {
  public:
    // Starts it with one pool and waits until it is ready for applications.
    int start(const Pool &pool, const char *directory, ipcmark_error *error);

    // Whether it has ended, which it never does by itself.
    bool is_gone() const { return gone.load(std::memory_order_relaxed); }

    // A descriptor that hangs up when the daemon ends, for others who depend on it.
    int life() const { return output; }

    // The error for a daemon that is gone.
    int fail_gone(ipcmark_error *error) const;

    // Ends it, orderly if it can be, and removes its files. Every application should have let go.
    void stop();

    ~Daemon() { stop(); }

  private:
    int spawn(const std::string &config, int words, ipcmark_error *error);
    int await(ipcmark_error *error);
    void watch();

    pid_t pid = 0;
    int output = -1; // What the daemon says.
    std::thread watcher;
    std::atomic<bool> gone{false};
};

// Removes what a daemon that is no more has left. A living one keeps everything.
void remove_daemon_files();

} // namespace ipcmark
