// A bare program of iceoryx's untyped C++ API, polled, the baseline for iceoryx-cpp. Daemon and runtime are started as
// in the module, because they are not measured.
#include "shared/c/bare.h"

#include "shared/roudi/daemon.hpp"
#include "shared/roudi/runtime.hpp"

#include <memory>
#include <string>

#include <iceoryx_posh/popo/untyped_publisher.hpp>
#include <iceoryx_posh/popo/untyped_subscriber.hpp>

namespace {

iox::capro::ServiceDescription topic(const char *direction) {
    using iox::capro::IdString_t;
    return {"ipcmark", "bare", IdString_t(iox::cxx::TruncateToCapacity, direction)};
}

struct Ports {
    explicit Ports(bool leads)
        : publisher(topic(leads ? "there" : "back")), subscriber(topic(leads ? "back" : "there")) {}

    iox::popo::UntypedPublisher publisher;
    iox::popo::UntypedSubscriber subscriber;
};

ipcmark::Daemon &daemon_of_leader() {
    static ipcmark::Daemon daemon;
    return daemon;
}

} // namespace

static void *bare_open(const struct bare *bare) {
    const ipcmark::Deadline deadline{std::chrono::seconds(BARE_CONNECTS_WITHIN_S)};
    if (bare->leads) {
        ipcmark_error error{};
        const ipcmark::Pool pool{(bare->payload + 31) / 32 * 32 + 32, 32};
        if (daemon_of_leader().start(pool, "/tmp", deadline, &error) != IPCMARK_DONE)
            bare_fail(error.cause);
    }
    bare_meet(bare);
    if (!ipcmark::open_runtime(ipcmark::registration_name(bare->name, bare->leads), deadline))
        bare_fail("iceoryx's daemon does not answer");
    auto *ports = new Ports(bare->leads);
    while (!ports->publisher.hasSubscribers() ||
           ports->subscriber.getSubscriptionState() != iox::SubscribeState::SUBSCRIBED) {
    }
    bare_meet(bare);
    return ports;
}

static void bare_send(void *end, const struct bare *bare, uint64_t number) {
    auto &self = *static_cast<Ports *>(end);
    auto loaned = self.publisher.loan(static_cast<uint32_t>(bare->payload));
    if (loaned.has_error())
        bare_fail("loan a chunk");
    bare_write(loaned.value(), number);
    self.publisher.publish(loaned.value());
}

static uint64_t bare_receive(void *end, const struct bare *bare) {
    auto &self = *static_cast<Ports *>(end);
    for (;;) {
        auto taken = self.subscriber.take();
        if (taken.has_error())
            continue;
        if (iox::mepoo::ChunkHeader::fromUserPayload(taken.value())->userPayloadSize() != bare->payload)
            bare_fail("receive a whole message");
        const uint64_t number = bare_read(taken.value());
        self.subscriber.release(taken.value());
        return number;
    }
}

static void bare_close(void *end) {
    delete static_cast<Ports *>(end);
    ipcmark::close_runtime();
}

int main(int argc, char **argv) {
    return bare_main(argc, argv);
}
