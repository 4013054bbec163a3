// A connection of sd-bus that exchanges signals with bytes.
#pragma once

#include "shared/cpp/within.hpp"

#include <ipcmark/transport.h>

#include <memory>
#include <string>
#include <vector>

#include <systemd/sd-bus.h>

namespace dbus {

struct Unref {
    void operator()(sd_bus_message *message) const { sd_bus_message_unref(message); }
};
using Message = std::unique_ptr<sd_bus_message, Unref>;

// The time that is left, as sd-bus counts it.
inline uint64_t left_us(const ipcmark::Deadline &deadline) {
    return static_cast<uint64_t>(std::chrono::microseconds(deadline.left()).count());
}

// The error to report when a connection ends.
struct Other {
    const char *object, *cause;
    int result; // IPCMARK_FAILED or IPCMARK_PEER_GONE
};

// Messages that arrived while a publication waited for room, in order: sd-bus reads and writes in one call. Their
// number is bounded; when it is reached, the publication waits for a take.
class Arrived {
  public:
    explicit Arrived(size_t most) : messages(most) {}
    bool is_empty() const { return count == 0; }
    bool is_full() const { return count == messages.size(); }
    void push(Message message) { messages[(first + count++) % messages.size()] = std::move(message); }
    Message pop();

  private:
    std::vector<Message> messages;
    size_t first = 0, count = 0;
};

class Connection {
  public:
    Connection(size_t payload, bool spins, const Other &other);
    Connection(const Connection &) = delete;
    Connection &operator=(const Connection &) = delete;
    // Unwritten messages are dropped: nobody waits for them any more.
    ~Connection();

    // Connects to the peer at the other end of the socket, and takes the ownership of the socket.
    int open_socket(int socket, bool serves, const ipcmark::Deadline &deadline, ipcmark_error *error);

    // Connects to a bus.
    int open_bus(const std::string &address, const ipcmark::Deadline &deadline, ipcmark_error *error);

    // This connection's name on its bus.
    std::string unique_name() const;

    // Subscribes to messages on the bus that have no destination.
    int subscribe(ipcmark_error *error);

    // Sends messages to the connection with this name from now on. When that leaves the bus, the peer is gone.
    int speak_to(const std::string &name, ipcmark_error *error);

    // The size of the socket's send buffer.
    std::string socket_buffer() const;

    int loan(size_t len, void **room, ipcmark_error *error);
    int publish(ipcmark_error *error);
    bool is_publishing() const { return is_sending; }
    int take(const void **bytes, size_t *len, ipcmark_error *error);
    int wait(uint64_t timeout_ns, ipcmark_error *error);

  private:
    int configure(ipcmark_error *error);
    int add_match(const std::string &rule, ipcmark_error *error);
    int start_peer(bool serves, const ipcmark::Deadline &deadline, ipcmark_error *error);
    int await_ready(const ipcmark::Deadline &deadline, ipcmark_error *error);
    int next(Message *message, ipcmark_error *error);
    int judge(sd_bus_message *message, ipcmark_error *error) const;
    int write_rest(ipcmark_error *error);
    int sleep_until_written(ipcmark_error *error);
    int fail(ipcmark_error *error, const char *operation, int code) const;

    sd_bus *bus = nullptr;
    const Other other;
    const bool spins;
    std::string destination; // Or "": the peer, or all subscribers.
    bool is_sending = false;
    Message lent, taken;
    Arrived arrived;
};

} // namespace dbus
