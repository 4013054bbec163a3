// An end of any row: its connection, and the bus where the row has one.
#pragma once

#include "broker.hpp"
#include "connection.hpp"
#include "daemon.hpp"

#include "shared/cpp/flow_control.hpp"

namespace dbus {

struct End {
    End(size_t payload, bool spins, const Other &other) : connection(payload, spins, other) {}

    // The leader's, one of them. It outlives the connection.
    Daemon daemon;
    Broker broker;
    ipcmark::FlowControl flow; // Of a broker, which does not make a sender wait.
    Connection connection;
};

// An end that is connected with nothing yet, or null where there is no memory.
std::unique_ptr<End> make_end(const ipcmark_settings &settings, const Other &other, ipcmark_error *error);

// Which bus a transport has.
struct Bus {
    const char *program;
    bool is_broker;
};

// Opens an end of a row with the bus that the context says: IPCMARK's `open` and `probe`.
int open_on_bus(const ipcmark_transport *transport, const ipcmark_settings *settings, ipcmark_session *session,
                void **end, ipcmark_error *error);
int probe_bus(const ipcmark_transport *transport, ipcmark_error *error);

} // namespace dbus
