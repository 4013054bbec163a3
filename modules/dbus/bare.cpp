// A bare program of two connections of sd-bus: over a pair of sockets, the baseline for dbus-direct; if BUS is defined
// as Daemon or Broker, through that bus, the baseline for dbus-daemon and dbus-broker.
#include "shared/c/bare.h"

#include <poll.h>
#include <systemd/sd-bus.h>

#ifdef BUS
#include "broker.hpp"
#include "daemon.hpp"

#include <sys/stat.h>
#endif

namespace {

constexpr const char *INTERFACE = "ipcmark.Bare", *MEMBER = "Message";

struct End {
    sd_bus *bus;
    sd_bus_message *taken;
    const char *destination;
#ifdef BUS
    dbus::BUS server; // Only in the leader.
    std::string directory;
    char peer[64];
#endif
};

void require(int code, const char *what) {
    if (code < 0)
        bare_fail(what);
}

#ifdef BUS

// The leader starts the bus, and sends its address; both then tell each other their names on it.
void connect(End *self, const struct bare *bare) {
    char address[128] = "", own[64] = "";
    const char *name = nullptr;
    if (bare->leads) {
        ipcmark_error error{};
        self->directory = std::string("/tmp/") + bare->name;
        const ipcmark::Deadline deadline{std::chrono::seconds(BARE_CONNECTS_WITHIN_S)};
        if (mkdir(self->directory.c_str(), 0700) != 0 ||
            self->server.start(self->directory, deadline, &error) != IPCMARK_DONE)
            bare_fail("start the bus");
        snprintf(address, sizeof address, "%s", self->server.address().c_str());
        if (write(bare->peer, address, sizeof address) != sizeof address)
            bare_fail("send the address");
    } else if (read(bare->peer, address, sizeof address) != sizeof address) {
        bare_fail("receive the address");
    }
    require(sd_bus_set_address(self->bus, address), "set the address");
    require(sd_bus_set_bus_client(self->bus, true), "be a client");
    require(sd_bus_start(self->bus), "start");
    require(sd_bus_get_unique_name(self->bus, &name), "get a name");
    snprintf(own, sizeof own, "%s", name);
    if (write(bare->peer, own, sizeof own) != sizeof own ||
        read(bare->peer, self->peer, sizeof self->peer) != sizeof self->peer)
        bare_fail("exchange names");
    self->destination = self->peer;
}

#else

void connect(End *self, const struct bare *bare) {
    const int socket = bare_exchange_socket(bare);
    sd_id128_t id;
    require(sd_bus_set_fd(self->bus, socket, socket), "set a socket");
    require(sd_bus_set_anonymous(self->bus, true), "be anonymous");
    require(sd_id128_randomize(&id), "make an identifier");
    if (bare->leads)
        require(sd_bus_set_server(self->bus, true, id), "serve");
    require(sd_bus_start(self->bus), "start");
    while (sd_bus_is_ready(self->bus) == 0)
        if (sd_bus_process(self->bus, nullptr) == 0)
            require(sd_bus_wait(self->bus, UINT64_MAX), "wait");
}

#endif

// The next message; null if none has come. A bus sends messages of its own as well.
sd_bus_message *next(End *self, bool *is_idle) {
    sd_bus_message *message = nullptr;
    const int code = sd_bus_process(self->bus, &message);
    require(code, "process");
    *is_idle = code == 0;
    if (message && sd_bus_message_is_signal(message, INTERFACE, MEMBER) > 0)
        return message;
    sd_bus_message_unref(message);
    return nullptr;
}

} // namespace

static void *bare_open(const struct bare *bare) {
    auto *self = new End{};
    require(sd_bus_new(&self->bus), "make a bus");
    connect(self, bare);
    return self;
}

static void bare_send(void *end, const struct bare *bare, uint64_t number) {
    auto *self = static_cast<End *>(end);
    sd_bus_message *message = nullptr;
    void *room = nullptr;
    require(sd_bus_message_new_signal(self->bus, &message, "/bare", INTERFACE, MEMBER), "make a message");
    if (self->destination)
        require(sd_bus_message_set_destination(message, self->destination), "set a destination");
    require(sd_bus_message_append_array_space(message, 'y', bare->payload, &room), "make room");
    bare_write(room, number);
    require(sd_bus_send(self->bus, message, nullptr), "send");
    require(sd_bus_flush(self->bus), "flush");
    sd_bus_message_unref(message);
}

static uint64_t bare_receive(void *end, const struct bare *bare) {
    auto *self = static_cast<End *>(end);
    const void *bytes = nullptr;
    size_t len = 0;
    sd_bus_message_unref(self->taken);
    bool is_idle = false;
    while (!(self->taken = next(self, &is_idle)))
        if (is_idle && !bare->spins)
            require(sd_bus_wait(self->bus, UINT64_MAX), "wait");
    require(sd_bus_message_read_array(self->taken, 'y', &bytes, &len), "read an array");
    if (len != bare->payload)
        bare_fail("receive a whole message");
    return bare_read(bytes);
}

static void bare_close(void *end) {
    auto *self = static_cast<End *>(end);
    sd_bus_message_unref(self->taken);
    sd_bus_close_unref(self->bus);
#ifdef BUS
    const std::string directory = self->directory;
    delete self;
    if (!directory.empty())
        rmdir(directory.c_str());
#else
    delete self;
#endif
}

int main(int argc, char **argv) {
    return bare_main(argc, argv);
}
