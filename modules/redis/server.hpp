// redis-server, started and ended with an endpoint of a leader.
#pragma once

#include "shared/cpp/program.hpp"

#include <string>

namespace redis {

class Server {
  public:
    Server() = default;
    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;
    ~Server();

    // Starts it without the machine's configuration, and waits until it listens at a socket in the directory.
    int start(const std::string &directory, const ipcmark::Deadline &deadline, ipcmark_error *error);

    const std::string &path() const { return socket; }

  private:
    ipcmark::Program program;
    std::string socket;
};

// The limits of a subscriber's backlog before the server drops it: the class of clients, then three limits.
extern const char *const OUTPUT_BUFFER_LIMIT[4];

// Checks that the program is installed.
int find_server(ipcmark_error *error);

} // namespace redis
