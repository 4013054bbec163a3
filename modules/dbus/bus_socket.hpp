// The socket of a message bus, in the session's directory.
#pragma once

#include <ipcmark/transport.h>

#include <string>

namespace dbus {

// As sd-bus and a bus take it.
std::string address_of(const std::string &path);

int listen_at(const std::string &path, int *listener, ipcmark_error *error);

} // namespace dbus
