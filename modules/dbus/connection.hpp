// A connection of sd-bus, and the signals with bytes that go over it.
#pragma once

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

// What is said where a connection ends.
struct Other {
    const char *object, *cause;
    int result; // IPCMARK_FAILED or IPCMARK_PEER_GONE
};

// Messages that came while a publication waited for room, in order: sd-bus reads and writes in one call. The sum of
// messages is bounded; where it is full, the publication waits for a take.
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
    // What was not written is dropped: nobody waits for it any more.
    ~Connection();

    // Speaks with the peer at the other end of the socket, which becomes the connection's own.
    int open_socket(int socket, bool serves, ipcmark_error *error);

    // Connects with a bus.
    int open_bus(const std::string &address, ipcmark_error *error);

    // This connection's name on its bus.
    std::string unique_name() const;

    // Asks the bus for what others send to nobody in particular.
    int subscribe(ipcmark_error *error);

    // From then on messages go to the connection with this name. Once that is gone from the bus, so is the peer.
    int speak_to(const std::string &name, ipcmark_error *error);

    // The bytes that the socket holds on their way out.
    std::string socket_buffer() const;

    int loan(size_t len, void **room, ipcmark_error *error);
    int publish(ipcmark_error *error);
    bool is_publishing() const { return is_sending; }
    int take(const void **bytes, size_t *len, ipcmark_error *error);
    void release() { taken.reset(); }
    int wait(uint64_t timeout_ns, ipcmark_error *error);

  private:
    int configure(ipcmark_error *error);
    int add_match(const std::string &rule, ipcmark_error *error);
    int start_peer(bool serves, ipcmark_error *error);
    int await_ready(ipcmark_error *error);
    int next(Message *message, ipcmark_error *error);
    int judge(sd_bus_message *message, ipcmark_error *error) const;
    int write_rest(ipcmark_error *error);
    int sleep_until_written(ipcmark_error *error);
    int fail(ipcmark_error *error, const char *operation, int code) const;

    sd_bus *bus = nullptr;
    const Other other;
    const bool spins;
    std::string destination; // Or "": the peer, or whoever asked for it.
    bool is_sending = false;
    Message lent, taken;
    Arrived arrived;
};

} // namespace dbus
