// iceoryx-cpp, iceoryx-c, iceoryx-waitset: chunks of shared memory handed over by publish-subscribe.
//
// - Mechanism: a publisher and a subscriber at each end, one topic for each direction. A message lies in a chunk of
//   a pool in shared memory; a lock-free queue for each subscriber carries the chunk's offset.
// - Kernel objects: the shared memory and sockets of iceoryx's daemon, which the leader starts with one pool for the
//   payload and ends again; iceoryx-waitset sleeps on a semaphore.
// - Copies a message: none.
// - Blocks: iceoryx-waitset in the WaitSet; the other two only poll.
// - Limits: the daemon's names in /tmp and /dev/shm are fixed, so outside a sandbox there is one session a machine.
//   The daemon takes about 70 MiB of /dev/shm for itself.
#include "ports.hpp"

#include "shared/cpp/description.hpp"
#include "shared/cpp/options.hpp"
#include "shared/cpp/within.hpp"
#include "shared/roudi/client.hpp"
#include "shared/roudi/runtime.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <string>

#include <iceoryx_versions.hpp>

namespace {

using namespace ipcmark;

// Options ----------------------------------------------------------------------------------------

constexpr size_t QUEUE_BYTES = 8u << 20;
constexpr uint64_t LEAST_DEPTH = 2, MOST_DEPTH = 128;

const ipcmark_option_spec OPTIONS[] = {
    {"depth", "2..256", "what 8 MiB hold, from 2 to 128", "messages that a queue holds"},
};

uint64_t depth_of(const ipcmark_settings &settings) {
    return number(settings, "depth", std::clamp<uint64_t>(QUEUE_BYTES / settings.payload, LEAST_DEPTH, MOST_DEPTH));
}

// Chunks for both directions: each queue full, one on loan, one that the publisher keeps, one taken. The size of a
// chunk must be a multiple of 32.
Pool pool_for(const ipcmark_settings &settings) {
    return Pool{(settings.payload + 31) / 32 * 32 + 32, 2 * (depth_of(settings) + 3)};
}

// State ------------------------------------------------------------------------------------------

// `Ports` is one of the library's interfaces.
template <typename Ports> struct End {
    Client client;
    std::unique_ptr<Ports> ports;
    void *on_loan = nullptr;
};

// Set-up and teardown ----------------------------------------------------------------------------

template <typename Ports> void close_end(void *end) {
    auto *self = static_cast<End<Ports> *>(end);
    if (self->on_loan)
        self->ports->give_back(self->on_loan);
    // The daemon takes ports back; those of a dead one are abandoned.
    if (self->client.is_daemon_gone())
        (void)self->ports.release();
    self->ports.reset();
    self->client.close();
    delete self;
}

// The daemon makes the ports. If it dies meanwhile, those that were made are abandoned.
template <typename Ports> int make_ports(End<Ports> &end, const ipcmark_settings &settings, ipcmark_error *error) {
    const Topics topics(settings.name, settings.role == IPCMARK_LEADER);
    const auto made = std::make_shared<std::unique_ptr<Ports>>();
    const auto make = [made, topics, depth = depth_of(settings)] { *made = std::make_unique<Ports>(topics, depth); };
    const int result = end.client.enter(make, error);
    if (result == IPCMARK_DONE)
        end.ports = std::move(*made);
    return result;
}

template <typename Ports> int connect(End<Ports> &end, ipcmark_error *error) {
    int result = IPCMARK_DONE;
    const auto is_over = [&] { return end.ports->are_connected() || (result = end.client.check(error)); };
    if (!holds_within(CONNECTED_WITHIN, is_over))
        return ipcmark_fail(error, "connect", "publishers and subscribers of iceoryx", "they do not find each other",
                            nullptr);
    return result;
}

template <typename Ports>
int open_end(const ipcmark_transport *, const ipcmark_settings *settings, ipcmark_session *session, void **opened,
             ipcmark_error *error) {
    auto *end = new (std::nothrow) End<Ports>;
    if (!end)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", nullptr);
    const uint64_t depth = depth_of(*settings);
    session->note(session, "queue", (std::to_string(depth) + " messages").c_str());
    session->note(session, "policies", "publisher waits for consumer, queue blocks producer");
    int result = end->client.open(pool_for(*settings), depth, *settings, session, error);
    if (result == IPCMARK_DONE)
        result = make_ports(*end, *settings, error);
    if (result == IPCMARK_DONE)
        result = connect(*end, error);
    if (result == IPCMARK_DONE)
        result = session->meet(session, error);
    if (result == IPCMARK_DONE)
        *opened = end;
    else
        close_end<Ports>(end);
    return result;
}

// The hot path -----------------------------------------------------------------------------------

template <typename Ports> int not_now(const End<Ports> &end, ipcmark_error *error) {
    const int result = end.client.check(error);
    return result == IPCMARK_DONE ? IPCMARK_WOULD_BLOCK : result;
}

template <typename Ports> int loan(void *end, size_t len, void **room, ipcmark_error *error) {
    auto &self = *static_cast<End<Ports> *>(end);
    if (!self.client.has_room())
        return not_now(self, error);
    if (!self.on_loan)
        self.on_loan = self.ports->loan(len);
    if (!self.on_loan)
        return not_now(self, error);
    *room = self.on_loan;
    return IPCMARK_DONE;
}

template <typename Ports> int publish(void *end, void *message, size_t, ipcmark_error *) {
    auto &self = *static_cast<End<Ports> *>(end);
    self.ports->publish(message);
    self.on_loan = nullptr;
    self.client.count_sent();
    return IPCMARK_DONE;
}

template <typename Ports> int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End<Ports> *>(end);
    const void *taken = self.ports->take(len);
    if (!taken)
        return not_now(self, error);
    *message = taken;
    return IPCMARK_DONE;
}

template <typename Ports> int release(void *end, const void *message, ipcmark_error *) {
    auto &self = *static_cast<End<Ports> *>(end);
    self.ports->release(message);
    self.client.count_released();
    return IPCMARK_DONE;
}

int sleep(void *end, uint64_t timeout_ns, ipcmark_error *error) {
    auto &self = *static_cast<End<WaitSetPorts> *>(end);
    if (const int result = self.client.check(error))
        return result;
    self.ports->sleep(timeout_ns);
    return IPCMARK_DONE;
}

// The definition ---------------------------------------------------------------------------------

const char *library_version() {
    return ICEORYX_LATEST_RELEASE_VERSION;
}

template <typename Ports> ipcmark_transport describe(const char *name, const char *summary, uint32_t waits) {
    auto transport = describe_transport(name, summary, waits, IPCMARK_LOANS | IPCMARK_EXCLUSIVE | IPCMARK_IN_MEMORY);
    transport.open = open_end<Ports>;
    transport.publish = publish<Ports>;
    transport.take = take<Ports>;
    transport.close = close_end<Ports>;
    transport.loan = loan<Ports>;
    transport.release = release<Ports>;
    set_options(transport, OPTIONS);
    return transport;
}

ipcmark_transport describe_wait_set() {
    auto transport = describe<WaitSetPorts>(
        "iceoryx-waitset", "iceoryx's C++ API with a WaitSet: loans in shared memory, no copy, a semaphore to sleep on",
        IPCMARK_BLOCK | IPCMARK_HYBRID);
    transport.wait = sleep;
    return transport;
}

const ipcmark_transport cpp = describe<CppPorts>(
    "iceoryx-cpp", "iceoryx's untyped C++ API, polled: loans in shared memory, no copy", IPCMARK_SPIN);
const ipcmark_transport c =
    describe<CPorts>("iceoryx-c", "iceoryx's C API, polled: loans in shared memory, no copy", IPCMARK_SPIN);
const ipcmark_transport wait_set = describe_wait_set();

const ipcmark_transport *const TRANSPORTS[] = {&cpp, &c, &wait_set};

} // namespace

const struct ipcmark_module *ipcmark_module(void) {
    static const auto module = describe_module("iceoryx", library_version, TRANSPORTS, name_leftovers);
    return &module;
}
