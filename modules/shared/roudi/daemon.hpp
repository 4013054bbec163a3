// iceoryx's daemon, RouDi, started and ended with one session.
#pragma once

#include "shared/cpp/program.hpp"

#include <atomic>
#include <thread>

namespace ipcmark {

// The daemon's memory pool: equal chunks.
struct Pool {
    size_t size;
    size_t count;
};

// A daemon that is a child of this process. Its names in /tmp and /dev/shm are fixed, so without a sandbox a machine
// can have only one.
class Daemon {
  public:
    // Starts it with one pool and waits until it is ready for applications.
    int start(const Pool &pool, const char *directory, const Deadline &deadline, ipcmark_error *error);

    // True if it has ended, which it never does by itself.
    bool is_gone() const { return gone.load(std::memory_order_relaxed); }

    // A descriptor that hangs up when the daemon ends, for other processes that depend on it.
    int lifeline() const { return program.output(); }

    // Fills in the error for a daemon that is gone.
    int fail_gone(ipcmark_error *error) const;

    // Ends it, with SIGTERM if it still responds, and removes its files. Every application should have removed its
    // registration before.
    void stop();

    ~Daemon() { stop(); }

  private:
    void watch();

    Program program;
    std::thread watcher;
    std::atomic<bool> gone{false};
};

// Calls file(list, path) for each file that a dead daemon can have left, and for none while one runs.
int name_leftovers(void (*file)(void *list, const char *path), void *list, ipcmark_error *error);

} // namespace ipcmark
