// The socket of a message bus, in the session's directory.
#pragma once

#include <ipcmark/transport.h>

#include <string>

namespace dbus {

// In the format of sd-bus and a bus.
std::string address_of(const std::string &path);

int listen_at(const std::string &path, int *listener, ipcmark_error *error);

} // namespace dbus
