// dbus-direct, dbus-daemon, dbus-broker: D-Bus signals by sd-bus between processes, without a message bus and through
// one.
//
// - Mechanism: sd_bus_send() of a signal whose body is an array of bytes, and sd_bus_process() until one has arrived.
// - Kernel objects: a pair of Unix stream sockets, or for each endpoint a connection to the bus at a socket in the
//   session's directory.
// - Copies a message: two, into and out of the kernel; through a bus four, and the bus's own copies. It is written and
//   read in place in the memory of sd-bus's messages.
// - Blocks: in sd_bus_wait(), which is ppoll(2), 1 s at most in take and 100 ms in publish.
// - Fan-out: through dbus-daemon, as a signal without a destination, to which the followers subscribe.
// - Limits: sd-bus allocates memory for every message. Both ends are on one host.
#include "endpoint.hpp"

#include "shared/cpp/description.hpp"
#include "shared/cpp/descriptors.hpp"
#include "shared/cpp/loaded_version.hpp"

#include <cerrno>
#include <memory>
#include <string>

#include <sys/socket.h>
#include <unistd.h>

namespace {

using dbus::End;
using dbus::Other;

constexpr dbus::Bus DAEMON = {"dbus-daemon", false}, BROKER = {"dbus-broker", true};
constexpr Other PEER = {"a connection of sd-bus", "the other process has hung up", IPCMARK_PEER_GONE};

// Set-up and teardown ----------------------------------------------------------------------------

// The leader makes the pair of sockets, and passes one to the follower.
int share_sockets(ipcmark_session *session, int *own, ipcmark_error *error) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        return ipcmark_fail_errno(error, "make", "a pair of sockets", errno, nullptr);
    const int result = session->send(session, 0, "socket", 6, &sockets[1], 1, error);
    close(sockets[1]);
    *own = sockets[0];
    if (result != IPCMARK_DONE)
        close(sockets[0]);
    return result;
}

int receive_socket(ipcmark_session *session, int *own, ipcmark_error *error) {
    int sockets[1];
    const int result =
        ipcmark::receive_descriptors(session, sockets, "open", PEER.object, "the leader sent no socket", error);
    *own = sockets[0];
    return result;
}

int open_direct(const ipcmark_transport *, const ipcmark_settings *settings, ipcmark_session *session, void **end,
                ipcmark_error *error) {
    const ipcmark::Deadline deadline(*settings);
    const bool leads = settings->role == IPCMARK_LEADER;
    int socket = -1;
    if (const int result = leads ? share_sockets(session, &socket, error) : receive_socket(session, &socket, error))
        return result;
    auto made = dbus::make_end(*settings, PEER, error);
    if (!made) {
        close(socket);
        return IPCMARK_FAILED;
    }
    int result = made->connection.open_socket(socket, leads, deadline, error);
    if (result == IPCMARK_DONE)
        result = session->meet(session, error);
    if (result != IPCMARK_DONE)
        return result;
    session->note(session, "socket buffer", made->connection.socket_buffer().c_str());
    *end = made.release();
    return IPCMARK_DONE;
}

void close_end(void *end) {
    delete static_cast<End *>(end);
}

// The hot path -----------------------------------------------------------------------------------

int loan(void *end, size_t len, void **room, ipcmark_error *error) {
    return static_cast<End *>(end)->connection.loan(len, room, error);
}

int publish(void *end, void *, size_t, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (!self.connection.is_publishing() && !self.flow.has_room())
        return IPCMARK_WOULD_BLOCK;
    const int result = self.connection.publish(error);
    if (result == IPCMARK_DONE)
        self.flow.count_sent();
    return result;
}

int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    return static_cast<End *>(end)->connection.take(message, len, error);
}

int release(void *end, const void *, ipcmark_error *) {
    static_cast<End *>(end)->flow.count_released();
    return IPCMARK_DONE;
}

int wait(void *end, uint64_t timeout_ns, ipcmark_error *error) {
    return static_cast<End *>(end)->connection.wait(timeout_ns, error);
}

// The definition ---------------------------------------------------------------------------------

ipcmark_transport describe(const char *name, const char *summary) {
    auto transport = ipcmark::describe_transport(name, summary, IPCMARK_SPIN | IPCMARK_BLOCK, IPCMARK_IN_KERNEL);
    transport.publish = publish;
    transport.take = take;
    transport.close = close_end;
    transport.loan = loan;
    transport.release = release;
    transport.wait = wait;
    return transport;
}

ipcmark_transport describe_direct() {
    auto transport = describe("dbus-direct", "D-Bus signals by sd-bus, peer to peer over a Unix socket, two copies");
    transport.open = open_direct;
    return transport;
}

ipcmark_transport describe_daemon() {
    auto transport =
        describe("dbus-daemon", "D-Bus signals by sd-bus through a message bus of the session's own, four copies");
    transport.patterns = IPCMARK_LATENCY | IPCMARK_FAN_OUT;
    transport.max_subscribers = dbus::Flow::MOST_FOLLOWERS;
    transport.context = &DAEMON;
    transport.probe = dbus::probe_bus;
    transport.open = dbus::open_on_bus;
    return transport;
}

ipcmark_transport describe_broker() {
    auto transport =
        describe("dbus-broker", "D-Bus signals by sd-bus through dbus-broker, a bus of the session's own, four copies");
    transport.context = &BROKER;
    transport.probe = dbus::probe_bus;
    transport.open = dbus::open_on_bus;
    return transport;
}

const ipcmark_transport direct = describe_direct();
const ipcmark_transport daemon_transport = describe_daemon();
const ipcmark_transport broker_transport = describe_broker();
const ipcmark_transport *const TRANSPORTS[] = {&direct, &daemon_transport, &broker_transport};

// libsystemd gives its version only as the number of its file: 0.35.0 is that of systemd 252.
const char *library_version() {
    static const std::string version =
        "libsystemd.so." + ipcmark::loaded_version(reinterpret_cast<const void *>(&sd_bus_new), "0");
    return version.c_str();
}

} // namespace

const struct ipcmark_module *ipcmark_module(void) {
    static const auto module = ipcmark::describe_module("dbus", library_version, TRANSPORTS);
    return &module;
}
