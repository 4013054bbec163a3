// dbus-daemon, started and ended with an endpoint of a leader.
#pragma once

#include "shared/cpp/program.hpp"

#include <string>

namespace dbus {

class Daemon {
  public:
    Daemon() = default;
    Daemon(const Daemon &) = delete;
    Daemon &operator=(const Daemon &) = delete;
    ~Daemon();

    // Starts it with its own configuration, and waits until it listens at a socket in the directory.
    int start(const std::string &directory, const ipcmark::Deadline &deadline, ipcmark_error *error);

    // In the format of sd-bus.
    const std::string &address() const { return listens; }

  private:
    ipcmark::Program program;
    std::string socket, listens;
};

// Checks that the program is installed.
int find_daemon(ipcmark_error *error);

} // namespace dbus
