// An endpoint of any row: its connection, and the bus if the row has one.
#pragma once

#include "broker.hpp"
#include "connection.hpp"
#include "daemon.hpp"
#include "flow.hpp"

namespace dbus {

struct End {
    End(size_t payload, bool spins, const Other &other) : connection(payload, spins, other) {}

    // The leader has one of them. It must outlive the connection.
    Daemon daemon;
    Broker broker;
    Flow flow; // Of a row with a bus.
    Connection connection;
};

// An endpoint without a connection, or null if there is no memory.
std::unique_ptr<End> make_end(const ipcmark_settings &settings, const Other &other, ipcmark_error *error);

// The bus of a transport.
struct Bus {
    const char *program;
    bool is_broker;
};

// Opens an endpoint of a row with the bus given by the context: the contract's `open` and `probe`.
int open_on_bus(const ipcmark_transport *transport, const ipcmark_settings *settings, ipcmark_session *session,
                void **end, ipcmark_error *error);
int probe_bus(const ipcmark_transport *transport, ipcmark_error *error);

} // namespace dbus
