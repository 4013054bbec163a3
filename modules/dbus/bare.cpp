// A bare program of two connections of sd-bus over a pair of sockets, the baseline for dbus-direct.
#include "shared/c/bare.h"

#include <poll.h>
#include <systemd/sd-bus.h>

namespace {

struct End {
    sd_bus *bus;
    sd_bus_message *taken;
};

void require(int code, const char *what) {
    if (code < 0)
        bare_fail(what);
}

} // namespace

static void *bare_open(const struct bare *bare) {
    auto *self = new End{};
    const int socket = bare_exchange_socket(bare);
    sd_id128_t id;
    require(sd_bus_new(&self->bus), "make a bus");
    require(sd_bus_set_fd(self->bus, socket, socket), "set a socket");
    require(sd_bus_set_anonymous(self->bus, true), "be anonymous");
    require(sd_id128_randomize(&id), "make an identifier");
    if (bare->leads)
        require(sd_bus_set_server(self->bus, true, id), "serve");
    require(sd_bus_start(self->bus), "start");
    while (sd_bus_is_ready(self->bus) == 0)
        if (sd_bus_process(self->bus, nullptr) == 0)
            require(sd_bus_wait(self->bus, UINT64_MAX), "wait");
    return self;
}

static void bare_send(void *end, const struct bare *bare, uint64_t number) {
    auto *self = static_cast<End *>(end);
    sd_bus_message *message = nullptr;
    void *room = nullptr;
    require(sd_bus_message_new_signal(self->bus, &message, "/bare", "ipcmark.Bare", "Message"), "make a message");
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
    self->taken = nullptr;
    while (!self->taken) {
        const int code = sd_bus_process(self->bus, &self->taken);
        require(code, "process");
        if (code == 0 && !bare->spins)
            require(sd_bus_wait(self->bus, UINT64_MAX), "wait");
    }
    require(sd_bus_message_read_array(self->taken, 'y', &bytes, &len), "read an array");
    if (len != bare->payload)
        bare_fail("receive a whole message");
    return bare_read(bytes);
}

static void bare_close(void *end) {
    auto *self = static_cast<End *>(end);
    sd_bus_message_unref(self->taken);
    sd_bus_close_unref(self->bus);
    delete self;
}

int main(int argc, char **argv) {
    return bare_main(argc, argv);
}
