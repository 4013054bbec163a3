// nats-server, started for one end of a leader and ended with it.
#pragma once

#include "shared/cpp/program.hpp"

#include <string>

namespace nats {

class Server {
  public:
    Server() = default;
    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;
    ~Server();

    // Starts it with nothing of the machine's configuration, and waits until it listens at a port that it chose. It
    // takes messages of up to `largest` bytes.
    int start(const std::string &directory, uint64_t largest, ipcmark_error *error);

    // With the token by which it knows the session's own ends.
    const std::string &url() const { return address; }

  private:
    int write_configuration(uint64_t largest, ipcmark_error *error);
    int read_port(ipcmark_error *error);

    ipcmark::Program program;
    std::string configuration, ports, token, address;
};

// Whether the program is there.
int find_server(ipcmark_error *error);

} // namespace nats
