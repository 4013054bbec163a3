// Set-up of an endpoint of a row with a bus: the leader starts the bus, every endpoint connects to it and learns the
// others' names.
#include "endpoint.hpp"

#include "shared/c/address.h"

#include <new>
#include <string>

namespace dbus {

namespace {

// The leader's death ends the bus.
Other told(const Bus &bus, bool leads) {
    if (leads)
        return {bus.program, "it has ended, or closed the connection", IPCMARK_FAILED};
    return {bus.program, "it has ended, and so has the leader", IPCMARK_PEER_GONE};
}

constexpr size_t NAME_BYTES = 64;

const std::string &bus_address(const End &end, const Bus &bus) {
    return bus.is_broker ? end.broker.address() : end.daemon.address();
}

int start_bus(End &end, const Bus &bus, const ipcmark_settings &settings, const ipcmark::Deadline &deadline,
              ipcmark_error *error) {
    const int result = bus.is_broker ? end.broker.start(settings.directory, deadline, error)
                                     : end.daemon.start(settings.directory, deadline, error);
    return result == IPCMARK_DONE ? end.connection.open_bus(bus_address(end, bus), deadline, error) : result;
}

// A follower's unique name on the bus, ":1.7".
int receive_name(ipcmark_session *session, uint32_t peer, std::string *name, ipcmark_error *error) {
    char text[NAME_BYTES];
    size_t len = sizeof text, none = 0;
    const int result = session->receive(session, peer, text, &len, nullptr, &none, error);
    name->assign(text, result == IPCMARK_DONE ? len : 0);
    return result;
}

// The leader sends to a single follower by its name. Messages for several have no destination: the followers subscribe
// to them.
int meet_followers(End &end, const std::string &address, ipcmark_session *session, ipcmark_error *error) {
    ipcmark_addresses bus = {"", ""};
    std::snprintf(bus.there, sizeof bus.there, "%s", address.c_str());
    std::snprintf(bus.back, sizeof bus.back, "%s", end.connection.unique_name().c_str());
    if (const int result = ipcmark_send_addresses(session, &bus, error))
        return result;
    std::string name;
    for (uint32_t peer = 0; peer < session->peers; peer++)
        if (const int result = receive_name(session, peer, &name, error))
            return result;
    return session->peers == 1 ? end.connection.speak_to(name, error) : IPCMARK_DONE;
}

int meet_leader(End &end, const ipcmark_settings &settings, const ipcmark::Deadline &deadline, ipcmark_session *session,
                ipcmark_error *error) {
    ipcmark_addresses bus;
    if (const int result = ipcmark_receive_addresses(session, &bus, "a message bus", error))
        return result;
    if (const int result = end.connection.open_bus(bus.there, deadline, error))
        return result;
    const std::string name = end.connection.unique_name();
    if (const int result = session->send(session, 0, name.data(), name.size(), nullptr, 0, error))
        return result;
    if (const int result = settings.subscribers > 1 ? end.connection.subscribe(error) : IPCMARK_DONE)
        return result;
    return end.connection.speak_to(bus.back, error);
}

} // namespace

std::unique_ptr<End> make_end(const ipcmark_settings &settings, const Other &other, ipcmark_error *error) {
    std::unique_ptr<End> end(new (std::nothrow) End(settings.payload, settings.wait == IPCMARK_SPIN, other));
    if (!end)
        ipcmark_fail(error, "allocate", "an end", "there is no memory left", nullptr);
    return end;
}

int open_on_bus(const ipcmark_transport *transport, const ipcmark_settings *settings, ipcmark_session *session,
                void **opened, ipcmark_error *error) {
    const ipcmark::Deadline deadline(*settings);
    const bool leads = settings->role == IPCMARK_LEADER;
    const Bus &bus = *static_cast<const Bus *>(transport->context);
    auto end = make_end(*settings, told(bus, leads), error);
    if (!end)
        return IPCMARK_FAILED;
    int result = leads ? start_bus(*end, bus, *settings, deadline, error) : IPCMARK_DONE;
    if (result == IPCMARK_DONE)
        result = leads ? meet_followers(*end, bus_address(*end, bus), session, error)
                       : meet_leader(*end, *settings, deadline, session, error);
    if (result == IPCMARK_DONE)
        result = end->flow.open(*settings, session, error);
    if (result == IPCMARK_DONE)
        result = session->meet(session, error);
    if (result != IPCMARK_DONE)
        return result;
    session->note(session, "socket buffer", end->connection.socket_buffer().c_str());
    *opened = end.release();
    return IPCMARK_DONE;
}

int probe_bus(const ipcmark_transport *transport, ipcmark_error *error) {
    return static_cast<const Bus *>(transport->context)->is_broker ? find_broker(error) : find_daemon(error);
}

} // namespace dbus
