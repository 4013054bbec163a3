// redis-server, started for one end of a leader and ended with it.
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

    // Starts it with nothing of the machine's configuration, and waits until it listens at a socket in the directory.
    int start(const std::string &directory, ipcmark_error *error);

    const std::string &path() const { return socket; }

  private:
    ipcmark::Program program;
    std::string socket;
};

// What a subscriber may be behind with before the server drops it: the class of clients, then three limits.
extern const char *const OUTPUT_BUFFER_LIMIT[4];

// Whether the program is there.
int find_server(ipcmark_error *error);

} // namespace redis
