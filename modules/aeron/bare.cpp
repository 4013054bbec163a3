// A bare program of Aeron's log in shared memory, the baseline for aeron-ipc, with the same media driver; if
// IS_NETWORK, over UDP with a driver in each process, the baseline for aeron-udp.
#include "client.hpp"
#include "config.hpp"
#include "driver.hpp"

#include "shared/c/bare.h"

namespace {

constexpr int32_t THERE = 1001, BACK = 1002;
constexpr size_t FRAGMENTS = 10;

struct End {
    aeron::Driver driver; // With shared memory only in the leader.
    aeron::Client client;
    aeron_fragment_assembler_t *assembler = nullptr;
    uint8_t *outgoing = nullptr;
    uint64_t number = 0;
    bool has_come = false;
};

void check(int result, const char *what) {
    if (result != IPCMARK_DONE)
        bare_fail(what);
}

void receive(void *end, const uint8_t *message, size_t, aeron_header_t *) {
    auto &self = *static_cast<End *>(end);
    self.number = bare_read(message);
    self.has_come = true;
}

// Over UDP each process listens at a port that the system chooses, and tells the other.
std::string listen(const struct bare *bare, const aeron::Client &client, const ipcmark::Deadline &deadline) {
    ipcmark_error error{};
    std::string own;
    check(client.await_endpoint(&own, deadline, &error), "find a port");
    char told[64] = "";
    snprintf(told, sizeof told, "%s", own.c_str());
    if (write(bare->peer, told, sizeof told) != sizeof told || read(bare->peer, told, sizeof told) != sizeof told)
        bare_fail("exchange ports");
    told[sizeof told - 1] = 0;
    return told;
}

} // namespace

static void *bare_open(const struct bare *bare) {
    const ipcmark::Deadline deadline{std::chrono::seconds(BARE_CONNECTS_WITHIN_S)};
    auto *self = new End;
    ipcmark_error error{};
    ipcmark_settings settings{};
    settings.payload = bare->payload;
    settings.subscribers = 1;
    aeron::Config config{};
    check(aeron::configure(settings, IS_NETWORK, &config, &error), "choose settings");
    const std::string directory =
        std::string("/dev/shm/") + bare->name + (IS_NETWORK && !bare->leads ? "-follower" : "");
    if (bare->leads || IS_NETWORK)
        check(self->driver.start({config.is_process, directory, aeron::variables(config)}, deadline, &error),
              "start the driver");
    bare_meet(bare);
    check(self->client.connect(aeron::place_in(directory), deadline, &error), "connect with the driver");
    check(self->client.subscribe(aeron::channel(config, IS_NETWORK ? "127.0.0.1:0" : ""), bare->leads ? BACK : THERE,
                                 deadline, &error),
          "subscribe");
    const std::string channel = aeron::channel(config, IS_NETWORK ? listen(bare, self->client, deadline) : "");
    check(self->client.publish_to(channel, bare->leads ? THERE : BACK, deadline, &error), "publish");
    check(self->client.await_peers(1, deadline, &error), "connect with the other process");
    check(aeron_fragment_assembler_create(&self->assembler, receive, self), "make an assembler");
    self->outgoing = new uint8_t[bare->payload]();
    return self;
}

static void bare_send(void *end, const struct bare *bare, uint64_t number) {
    auto *self = static_cast<End *>(end);
    bare_write(self->outgoing, number);
    int64_t position;
    do
        position = aeron_exclusive_publication_offer(self->client.publication, self->outgoing, bare->payload, nullptr,
                                                     nullptr);
    while (position == AERON_PUBLICATION_BACK_PRESSURED || position == AERON_PUBLICATION_ADMIN_ACTION);
    if (position < 0)
        bare_fail("publish");
}

static uint64_t bare_receive(void *end, const struct bare *) {
    auto *self = static_cast<End *>(end);
    for (self->has_come = false; !self->has_come;)
        if (aeron_subscription_poll(self->client.subscription, aeron_fragment_assembler_handler, self->assembler,
                                    FRAGMENTS) < 0)
            bare_fail("receive");
    return self->number;
}

static void bare_close(void *end) {
    auto *self = static_cast<End *>(end);
    aeron_fragment_assembler_delete(self->assembler);
    delete[] self->outgoing;
    delete self;
}

int main(int argc, char **argv) {
    return bare_main(argc, argv);
}
