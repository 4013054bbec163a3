// dbus-daemon, started for one end of a leader and ended with it.
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

    // Starts it with a configuration of its own, and waits until it listens at a socket in the directory. A client that
    // has so many bytes in it waits before it sends more.
    int start(const std::string &directory, size_t bytes_under_way, ipcmark_error *error);

    // As sd-bus takes it.
    const std::string &address() const { return listens; }

  private:
    ipcmark::Program program;
    std::string socket, listens;
};

// Whether the program is there.
int find_daemon(ipcmark_error *error);

} // namespace dbus
