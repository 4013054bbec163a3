// nats-server, started and ended with an endpoint of a leader.
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

    // Starts it without the machine's configuration, and waits until it listens at a port of its choice. It accepts
    // messages of up to `largest` bytes.
    int start(const std::string &directory, uint64_t largest, const ipcmark::Deadline &deadline, ipcmark_error *error);

    // Contains the token that authenticates the session's own endpoints.
    const std::string &url() const { return address; }

  private:
    int write_configuration(uint64_t largest, ipcmark_error *error);
    int read_port(const ipcmark::Deadline &deadline, ipcmark_error *error);

    ipcmark::Program program;
    std::string configuration, ports, token, address;
};

// Checks that the program is installed.
int find_server(ipcmark_error *error);

} // namespace nats
