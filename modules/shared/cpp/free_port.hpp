// A UDP port that no other program uses.
#pragma once

#include "shared/cpp/failure.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ipcmark {

// A socket that reserves a port chosen by the system, until the library binds the port itself. Several open ones have
// different ports.
struct FreePort {
    int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    FreePort() = default;
    FreePort(const FreePort &) = delete;
    FreePort &operator=(const FreePort &) = delete;
    ~FreePort() { ::close(socket); }

    uint32_t number(const std::string &host) const {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1)
            throw Failure{"bind", "a UDP port at " + host, "it is no address of IPv4", ""};
        auto *generic = reinterpret_cast<sockaddr *>(&address);
        socklen_t len = sizeof address;
        if (bind(socket, generic, len) != 0 || getsockname(socket, generic, &len) != 0)
            throw Failure{"bind", "a UDP port at " + host, std::strerror(errno), ""};
        return ntohs(address.sin_port);
    }
};

} // namespace ipcmark
