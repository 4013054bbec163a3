#include "bus_socket.hpp"

#include <cctype>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace dbus {

// In an address, everything but letters, digits and a few other characters is written as %XX; so it needs no escape in
// XML.
std::string address_of(const std::string &path) {
    constexpr const char *DIGITS = "0123456789abcdef";
    std::string text = "unix:path=";
    for (const unsigned char byte : path) {
        if (std::isalnum(byte) || byte == '/' || byte == '-' || byte == '_' || byte == '.')
            text += static_cast<char>(byte);
        else
            text.append({'%', DIGITS[byte / 16], DIGITS[byte % 16]});
    }
    return text;
}

int listen_at(const std::string &path, int *listener, ipcmark_error *error) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    *listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*listener >= 0 && bind(*listener, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0 &&
        listen(*listener, SOMAXCONN) == 0)
        return IPCMARK_DONE;
    ipcmark_fail_errno(error, "listen at", path.c_str(), errno, nullptr);
    if (*listener >= 0)
        close(*listener);
    return IPCMARK_FAILED;
}

} // namespace dbus
