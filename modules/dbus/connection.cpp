#include "connection.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dbus {

namespace {

constexpr const char *PATH = "/ipcmark", *INTERFACE = "ipcmark.Transport", *MEMBER = "Message";
constexpr const char *BUS = "org.freedesktop.DBus", *BUS_PATH = "/org/freedesktop/DBus";
// The sender of sd-bus's messages to its own process.
constexpr const char *LOCAL = "org.freedesktop.DBus.Local";

// The limits of the messages that may arrive while a publication waits.
constexpr size_t ARRIVED_BYTES = 8u << 20;
constexpr size_t LEAST_ARRIVED = 2, MOST_ARRIVED = 1024;

constexpr uint64_t LONGEST_SLEEP_US = 100'000;

bool is_hang_up(int code) {
    return code == -ECONNRESET || code == -EPIPE || code == -ENOTCONN || code == -ESHUTDOWN || code == -ECONNABORTED;
}

} // namespace

Message Arrived::pop() {
    Message message = std::move(messages[first]);
    first = (first + 1) % messages.size();
    count--;
    return message;
}

// Set-up and teardown ----------------------------------------------------------------------------

Connection::Connection(size_t payload, bool spins, const Other &other)
    : other(other), spins(spins), arrived(std::clamp(ARRIVED_BYTES / payload, LEAST_ARRIVED, MOST_ARRIVED)) {}

Connection::~Connection() {
    lent.reset();
    taken.reset();
    while (!arrived.is_empty())
        arrived.pop();
    if (bus)
        sd_bus_close(bus);
    sd_bus_unref(bus);
}

int Connection::fail(ipcmark_error *error, const char *operation, int code) const {
    if (!is_hang_up(code))
        return ipcmark_fail_errno(error, operation, other.object, -code, nullptr);
    ipcmark_fail(error, operation, other.object, other.cause, nullptr);
    return other.result;
}

// No message needs descriptors.
int Connection::configure(ipcmark_error *error) {
    int code = sd_bus_new(&bus);
    if (code >= 0)
        code = sd_bus_negotiate_fds(bus, false);
    return code < 0 ? fail(error, "make", code) : IPCMARK_DONE;
}

int Connection::open_socket(int socket, bool serves, const ipcmark::Deadline &deadline, ipcmark_error *error) {
    const int result = configure(error);
    const int code = result == IPCMARK_DONE ? sd_bus_set_fd(bus, socket, socket) : 0;
    if (result == IPCMARK_DONE && code >= 0)
        return start_peer(serves, deadline, error);
    close(socket);
    return result != IPCMARK_DONE ? result : fail(error, "open", code);
}

int Connection::start_peer(bool serves, const ipcmark::Deadline &deadline, ipcmark_error *error) {
    sd_id128_t id;
    int code = sd_bus_set_anonymous(bus, true);
    if (code >= 0 && serves)
        code = sd_id128_randomize(&id);
    if (code >= 0 && serves)
        code = sd_bus_set_server(bus, true, id);
    if (code >= 0)
        code = sd_bus_start(bus);
    return code < 0 ? fail(error, "open", code) : await_ready(deadline, error);
}

int Connection::open_bus(const std::string &address, const ipcmark::Deadline &deadline, ipcmark_error *error) {
    if (const int result = configure(error))
        return result;
    int code = sd_bus_set_address(bus, address.c_str());
    if (code >= 0)
        code = sd_bus_set_bus_client(bus, true);
    if (code >= 0)
        code = sd_bus_set_method_call_timeout(bus, left_us(deadline));
    if (code >= 0)
        code = sd_bus_start(bus);
    return code < 0 ? fail(error, "connect with", code) : await_ready(deadline, error);
}

std::string Connection::unique_name() const {
    const char *name = nullptr;
    return sd_bus_get_unique_name(bus, &name) >= 0 ? name : "";
}

int Connection::add_match(const std::string &rule, ipcmark_error *error) {
    const int code = sd_bus_call_method(bus, BUS, BUS_PATH, BUS, "AddMatch", nullptr, nullptr, "s", rule.c_str());
    return code < 0 ? fail(error, "ask for messages from", code) : IPCMARK_DONE;
}

int Connection::subscribe(ipcmark_error *error) {
    return add_match(std::string("type='signal',interface='") + INTERFACE + "'", error);
}

int Connection::speak_to(const std::string &name, ipcmark_error *error) {
    // It comes from another process, and becomes a part of a match rule.
    if (name.find_first_not_of(":.0123456789") != std::string::npos)
        return ipcmark_fail(error, "speak to", "the other process", "it told no name of the bus", nullptr);
    destination = name;
    return add_match(std::string("type='signal',sender='") + BUS + "',interface='" + BUS +
                         "',member='NameOwnerChanged',arg0='" + name + "'",
                     error);
}

// Both ends send while they authenticate, so both must be awake.
int Connection::await_ready(const ipcmark::Deadline &deadline, ipcmark_error *error) {
    int code = 0;
    while ((code = sd_bus_is_ready(bus)) == 0 && !deadline.has_passed()) {
        code = sd_bus_process(bus, nullptr);
        if (code == 0)
            code = sd_bus_wait(bus, LONGEST_SLEEP_US);
        if (code < 0 && code != -EINTR)
            break;
    }
    if (code < 0)
        return fail(error, "open", code);
    if (code > 0)
        return IPCMARK_DONE;
    const auto cause = deadline.missed("the other side does not answer");
    return ipcmark_fail(error, "open", other.object, cause.c_str(), nullptr);
}

std::string Connection::socket_buffer() const {
    int bytes = 0;
    socklen_t len = sizeof bytes;
    getsockopt(sd_bus_get_fd(bus), SOL_SOCKET, SO_SNDBUF, &bytes, &len);
    return std::to_string(bytes) + " bytes";
}

// The hot path -----------------------------------------------------------------------------------

int Connection::loan(size_t len, void **room, ipcmark_error *error) {
    sd_bus_message *message = nullptr;
    int code = sd_bus_message_new_signal(bus, &message, PATH, INTERFACE, MEMBER);
    lent.reset(message);
    if (code >= 0 && !destination.empty())
        code = sd_bus_message_set_destination(message, destination.c_str());
    if (code >= 0)
        code = sd_bus_message_append_array_space(message, 'y', len, room);
    return code < 0 ? fail(error, "make a message for", code) : IPCMARK_DONE;
}

// sd-bus queues everything that the socket does not accept at once, without a bound; so one message at a time is sent.
int Connection::publish(ipcmark_error *error) {
    if (!is_sending) {
        const int code = sd_bus_send(bus, lent.get(), nullptr);
        if (code < 0)
            return fail(error, "send to", code);
        is_sending = true;
    }
    uint64_t left = 0;
    if (const int code = sd_bus_get_n_queued_write(bus, &left); code < 0)
        return fail(error, "send to", code);
    if (left > 0)
        return write_rest(error);
    is_sending = false;
    lent.reset();
    return IPCMARK_DONE;
}

// One step of sd-bus, which can also receive a message.
int Connection::write_rest(ipcmark_error *error) {
    if (!spins)
        if (const int result = sleep_until_written(error))
            return result;
    if (arrived.is_full())
        return IPCMARK_WOULD_BLOCK;
    Message message;
    const int result = next(&message, error);
    if (message)
        arrived.push(std::move(message));
    return result == IPCMARK_DONE ? IPCMARK_WOULD_BLOCK : result;
}

int Connection::sleep_until_written(ipcmark_error *error) {
    if (!arrived.is_full()) {
        const int code = sd_bus_wait(bus, LONGEST_SLEEP_US);
        return code < 0 && code != -EINTR ? fail(error, "send to", code) : IPCMARK_DONE;
    }
    pollfd hang_up{sd_bus_get_fd(bus), 0, 0};
    poll(&hang_up, 1, static_cast<int>(LONGEST_SLEEP_US / 1000));
    return IPCMARK_DONE;
}

// The next message of the peer, or WOULD_BLOCK.
int Connection::next(Message *message, ipcmark_error *error) {
    for (;;) {
        sd_bus_message *came = nullptr;
        const int code = sd_bus_process(bus, &came);
        message->reset(came);
        if (code == 0)
            return IPCMARK_WOULD_BLOCK;
        if (code < 0)
            return fail(error, "receive from", code);
        if (came && sd_bus_message_is_signal(came, INTERFACE, MEMBER) > 0)
            return IPCMARK_DONE;
        if (const int result = came ? judge(came, error) : IPCMARK_DONE)
            return message->reset(), result;
    }
}

// Checks a message that is not the peer's: DONE if the connection can continue.
int Connection::judge(sd_bus_message *message, ipcmark_error *error) const {
    if (sd_bus_message_is_signal(message, LOCAL, "Disconnected") > 0)
        return fail(error, "receive from", -ECONNRESET);
    const char *name = "", *before = "", *now = "";
    if (sd_bus_message_is_signal(message, BUS, "NameOwnerChanged") <= 0 ||
        sd_bus_message_read(message, "sss", &name, &before, &now) < 0 || destination != name || *now)
        return IPCMARK_DONE;
    ipcmark_fail(error, "receive from", "the other process", "it has left the bus", nullptr);
    return IPCMARK_PEER_GONE;
}

// Frees the last message only now: while the peer works, not between a message and the answer to it.
int Connection::take(const void **bytes, size_t *len, ipcmark_error *error) {
    taken.reset();
    if (!arrived.is_empty())
        taken = arrived.pop();
    else if (const int result = next(&taken, error))
        return result;
    const int code = sd_bus_message_read_array(taken.get(), 'y', bytes, len);
    return code < 0 ? fail(error, "read a message from", code) : IPCMARK_DONE;
}

int Connection::wait(uint64_t timeout_ns, ipcmark_error *error) {
    if (!arrived.is_empty())
        return IPCMARK_DONE;
    const int code = sd_bus_wait(bus, timeout_ns / 1000);
    if (code < 0 && code != -EINTR)
        return fail(error, "receive from", code);
    return code > 0 ? IPCMARK_DONE : IPCMARK_WOULD_BLOCK;
}

} // namespace dbus
