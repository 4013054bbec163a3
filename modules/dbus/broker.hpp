// dbus-broker without its launcher, which requires systemd: the leader is its controller.
#pragma once

#include "shared/cpp/program.hpp"

#include <string>

#include <systemd/sd-bus.h>

namespace dbus {

class Broker {
  public:
    Broker() = default;
    Broker(const Broker &) = delete;
    Broker &operator=(const Broker &) = delete;
    ~Broker();

    // Starts it, and passes it a listening socket in the directory.
    int start(const std::string &directory, const ipcmark::Deadline &deadline, ipcmark_error *error);

    // In the format of sd-bus.
    const std::string &address() const { return listens; }

  private:
    int run(int controllers_end, ipcmark_error *error);
    int connect(int controller, const ipcmark::Deadline &deadline, ipcmark_error *error);
    int add_listener(int listener, ipcmark_error *error);

    ipcmark::Program program;
    sd_bus *controller = nullptr; // The broker ends when this closes.
    std::string socket, listens;
};

int find_broker(ipcmark_error *error);

} // namespace dbus
