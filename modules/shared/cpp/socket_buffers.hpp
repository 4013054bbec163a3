// The sizes of a UDP socket's buffers. The kernel grants at most net.core.rmem_max and wmem_max, without an error.
#pragma once

#include <cstdint>
#include <string>

#include <sys/socket.h>
#include <unistd.h>

namespace ipcmark {

// The bytes that a socket has after it has asked for as many. The kernel reports twice of what it grants.
inline uint32_t granted(int socket, int option, uint32_t asked) {
    const int size = static_cast<int>(asked);
    int doubled = 0;
    socklen_t len = sizeof doubled;
    setsockopt(socket, SOL_SOCKET, option, &size, sizeof size);
    getsockopt(socket, SOL_SOCKET, option, &doubled, &len);
    return static_cast<uint32_t>(doubled / 2);
}

// For the result: the sizes that a socket gets if it asks for as many bytes.
inline std::string granted_buffers(uint32_t asked) {
    const int probe = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (probe < 0)
        return "unknown";
    const auto sent = granted(probe, SO_SNDBUF, asked), received = granted(probe, SO_RCVBUF, asked);
    close(probe);
    const auto kib = [](uint32_t bytes) { return std::to_string(bytes >> 10) + " KiB"; };
    if (sent != received)
        return kib(sent) + " to send, " + kib(received) + " to receive, " + kib(asked) + " asked for";
    return sent < asked ? kib(sent) + ", " + kib(asked) + " asked for" : kib(sent);
}

} // namespace ipcmark
