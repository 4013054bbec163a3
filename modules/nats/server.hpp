// nats-server, started and ended with an endpoint of a leader.
#pragma once

#include "shared/cpp/program.hpp"

#include <cstdint>
#include <string>

namespace nats {

constexpr uint64_t DEFAULT_MAX_PENDING = 64u << 20; // The server's own.

struct Limits {
    uint64_t payload;                       // The largest message in bytes.
    uint64_t pending = DEFAULT_MAX_PENDING; // The most bytes that wait for a client.
};

class Server {
  public:
    Server() = default;
    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;
    ~Server();

    // Starts it without the machine's configuration, and waits until it listens at a port of its choice.
    int start(const std::string &directory, const Limits &limits, const ipcmark::Deadline &deadline,
              ipcmark_error *error);

    // Contains the token that authenticates the session's own endpoints.
    const std::string &url() const { return address; }

  private:
    int write_configuration(const Limits &limits, ipcmark_error *error);
    int read_port(const ipcmark::Deadline &deadline, ipcmark_error *error);

    ipcmark::Program program;
    std::string configuration, ports, token, address;
};

// Checks that the program is installed.
int find_server(ipcmark_error *error);

} // namespace nats
