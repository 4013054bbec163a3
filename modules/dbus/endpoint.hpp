// An end of any row: its connection, and the bus where the row has one.
#pragma once

#include "connection.hpp"
#include "daemon.hpp"

namespace dbus {

struct End {
    End(size_t payload, bool spins, const Other &other) : connection(payload, spins, other) {}

    Daemon daemon; // The leader's. It outlives the connection.
    Connection connection;
};

// An end that is connected with nothing yet, or null where there is no memory.
std::unique_ptr<End> make_end(const ipcmark_settings &settings, const Other &other, ipcmark_error *error);

// Opens an end of a row with a bus: IPCMARK's `open` and `probe`.
int open_on_bus(const ipcmark_transport *transport, const ipcmark_settings *settings, ipcmark_session *session,
                void **end, ipcmark_error *error);
int probe_daemon(const ipcmark_transport *transport, ipcmark_error *error);

} // namespace dbus
