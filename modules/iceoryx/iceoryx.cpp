// iceoryx-cpp, iceoryx-c, iceoryx-waitset: chunks of shared memory handed over by publish-subscribe.
//
// - Mechanism: a publisher and a subscriber at each end, one topic for each direction. A message lies in a chunk of a
//   pool in shared memory; a lock-free queue for each subscriber carries the chunk's offset.
// - Kernel objects: the shared memory and sockets of iceoryx's daemon, which the leader starts with one pool for the
//   payload and ends; iceoryx-waitset sleeps on a semaphore.
// - Copies a message: none.
// - Blocks: iceoryx-waitset in the WaitSet; the other two only poll.
// - Fan-out: the leader's publisher reaches the subscribers of all followers, and its subscriber takes from all their
//   publishers. Nothing is published unless every queue has room for it.
// - Limits: the daemon's names in /tmp and /dev/shm are fixed, so without a sandbox a machine can have only one
//   session. The daemon itself uses about 70 MiB of /dev/shm.
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
// The capacity of a subscriber's queue, however many publishers it has.
constexpr uint64_t LONGEST_QUEUE = iox::MAX_SUBSCRIBER_QUEUE_CAPACITY;

const ipcmark_option_spec OPTIONS[] = {
    {"depth", "2..256", "what 8 MiB hold, from 2 to 128", "messages that a queue holds"},
};

uint64_t depth_of(const ipcmark_settings &settings) {
    const uint64_t standard = std::clamp<uint64_t>(QUEUE_BYTES / settings.payload, LEAST_DEPTH, MOST_DEPTH);
    return std::min<uint64_t>(number(settings, "depth", standard), LONGEST_QUEUE / settings.subscribers);
}

// The number of chunks covers the publishers of all endpoints: a full queue, one on loan, one that the publisher keeps,
// one taken. The size of a chunk must be a multiple of 32.
Pool pool_for(const ipcmark_settings &settings) {
    return Pool{(settings.payload + 31) / 32 * 32 + 32, (settings.subscribers + 1) * (depth_of(settings) + 3)};
}

// State ------------------------------------------------------------------------------------------

// `Ports` is the class for one of the library's interfaces.
template <typename Ports> struct End {
    Client client;
    std::unique_ptr<Ports> ports;
    void *on_loan = nullptr;
    uint64_t payload = 0;
    uint32_t peers = 0;
    uint64_t origins[Client::MOST_FOLLOWERS] = {}; // Of a leader's followers.

    // The number of the peer that sent a message.
    uint32_t sender_of(const void *message) const {
        if (peers == 1)
            return 0;
        const uint64_t origin = Ports::origin_of(message);
        return static_cast<uint32_t>(std::find(origins, origins + peers - 1, origin) - origins);
    }
};

// Set-up and teardown ----------------------------------------------------------------------------

template <typename Ports> void close_end(void *end) {
    auto *self = static_cast<End<Ports> *>(end);
    if (self->on_loan)
        self->ports->give_back(self->on_loan);
    // The daemon takes ports back; those of a dead daemon are abandoned.
    if (self->client.is_daemon_gone())
        (void)self->ports.release();
    self->ports.reset();
    self->client.close();
    delete self;
}

// The daemon makes the ports. If it dies meanwhile, those already made are abandoned.
template <typename Ports> int make_ports(End<Ports> &end, const ipcmark_settings &settings, ipcmark_error *error) {
    const bool leads = settings.role == IPCMARK_LEADER;
    const uint64_t queue = depth_of(settings) * (leads ? settings.subscribers : 1);
    const Making making{Topics(settings.name, leads), queue, settings.follower};
    const auto made = std::make_shared<std::unique_ptr<Ports>>();
    const auto make = [made, making] { *made = std::make_unique<Ports>(making); };
    const int result = end.client.enter(make, error);
    if (result == IPCMARK_DONE)
        end.ports = std::move(*made);
    return result;
}

// Sends the leader the origin that marks each follower's messages.
template <typename Ports> int introduce(End<Ports> &end, bool leads, ipcmark_session *session, ipcmark_error *error) {
    uint64_t origin = end.ports->origin();
    if (!leads)
        return session->send(session, 0, &origin, sizeof origin, nullptr, 0, error);
    for (uint32_t peer = 0; peer < end.peers; peer++) {
        size_t len = sizeof origin, none = 0;
        if (const int result = session->receive(session, peer, &end.origins[peer], &len, nullptr, &none, error))
            return result;
    }
    return IPCMARK_DONE;
}

// A new port is connected to the ports that exist when the daemon makes it. So followers make theirs after the leader,
// and each follower's view of its own connections is also true for the leader, whose publisher does not report its
// number of subscribers.
template <typename Ports>
int make_and_introduce(End<Ports> &end, const ipcmark_settings &settings, ipcmark_session *session,
                       ipcmark_error *error) {
    const bool leads = settings.role == IPCMARK_LEADER;
    int result = leads ? make_ports(end, settings, error) : IPCMARK_DONE;
    if (result == IPCMARK_DONE)
        result = session->meet(session, error);
    if (result == IPCMARK_DONE && !leads)
        result = make_ports(end, settings, error);
    return result == IPCMARK_DONE ? introduce(end, leads, session, error) : result;
}

template <typename Ports> int connect(End<Ports> &end, const Deadline &deadline, ipcmark_error *error) {
    int result = IPCMARK_DONE;
    const auto is_over = [&] { return end.ports->are_connected() || (result = end.client.check(error)); };
    if (!holds_by(deadline, is_over))
        return ipcmark_fail(error, "connect", "publishers and subscribers of iceoryx",
                            deadline.missed("they do not find each other").c_str(), nullptr);
    return result;
}

template <typename Ports>
int open_end(const ipcmark_transport *, const ipcmark_settings *settings, ipcmark_session *session, void **opened,
             ipcmark_error *error) {
    const Deadline deadline(*settings);
    auto *end = new (std::nothrow) End<Ports>;
    if (!end)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", nullptr);
    end->payload = settings->payload;
    end->peers = session->peers;
    const uint64_t depth = depth_of(*settings);
    session->note(session, "queue", (std::to_string(depth) + " messages").c_str());
    session->note(session, "policies", "publisher waits for consumer, queue blocks producer");
    int result = end->client.open(pool_for(*settings), depth, *settings, deadline, session, error);
    if (result == IPCMARK_DONE)
        result = make_and_introduce(*end, *settings, session, error);
    if (result == IPCMARK_DONE)
        result = connect(*end, deadline, error);
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
    if (*len > self.payload) {
        self.ports->release(taken);
        return ipcmark_fail(error, "take", "a message of iceoryx", "it is longer than any that is sent", nullptr);
    }
    *message = taken;
    return IPCMARK_DONE;
}

template <typename Ports> int release(void *end, const void *message, ipcmark_error *) {
    auto &self = *static_cast<End<Ports> *>(end);
    const uint32_t sender = self.sender_of(message);
    self.ports->release(message);
    self.client.count_released(sender);
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
    auto transport = describe_transport(name, summary, waits,
                                        IPCMARK_LOANS | IPCMARK_EXCLUSIVE | IPCMARK_ONE_END | IPCMARK_IN_MEMORY);
    transport.patterns = IPCMARK_LATENCY | IPCMARK_FAN_OUT;
    transport.max_subscribers = Client::MOST_FOLLOWERS;
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
