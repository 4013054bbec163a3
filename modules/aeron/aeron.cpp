// aeron-ipc, aeron-udp: messages through the log buffers of Aeron.
//
// - Mechanism: an exclusive publication and a subscription for each direction. Over IPC both endpoints map one log
//   buffer, which a media driver makes and cleans; over UDP each endpoint has a driver, which sends its log and
//   receives the other one's.
// - Kernel objects: log buffers and a file of commands and counters in /dev/shm; UDP sockets of the drivers.
// - Threads: one of the client in each endpoint, and one in a driver, or four, three of which carry messages.
// - Copies a message: one, into the log, and another out of it for a message of several fragments; over UDP also those
//   of the kernel and of the driver.
// - Blocks: never. It polls, or backs off: spins, yields, then sleeps for 1 µs to 1 ms.
// - Limits: a message fills at most an eighth of a term. All endpoints are on one host.
#include "client.hpp"
#include "config.hpp"
#include "driver.hpp"

#include "shared/c/address.h"
#include "shared/c/space.h"
#include "shared/cpp/description.hpp"

#include <memory>
#include <new>
#include <string>

// Aeron's idle strategy, whose header does not compile as C++.
extern "C" {
void aeron_idle_strategy_backoff_idle(void *state, int work_count);
int aeron_idle_strategy_backoff_state_init(void **state, uint64_t max_spins, uint64_t max_yields,
                                           uint64_t min_park_period_ns, uint64_t max_park_period_ns);
void aeron_free(void *pointer);
}

namespace aeron {

namespace {

constexpr uint32_t MOST_FOLLOWERS = 64;
constexpr int32_t THERE = 1001, BACK = 1002;
// The number in Aeron's samples.
constexpr size_t FRAGMENTS = 10;
// The library's default values for this strategy.
constexpr uint64_t SPINS = 10, YIELDS = 20, SHORTEST_SLEEP_NS = 1000, LONGEST_SLEEP_NS = 1000000;
// The number of unsuccessful attempts before a check that the driver is alive, which costs a system call.
constexpr uint32_t VAIN_SPINS = 8192, VAIN_SLEEPS = 128;

struct End {
    End() = default;
    End(const End &) = delete;
    End &operator=(const End &) = delete;
    ~End();

    Driver driver; // Must outlive the client.
    Client client;
    aeron_controlled_fragment_assembler_t *assembler = nullptr;
    void *idle = nullptr; // The state of the strategy; null if the endpoint spins.
    uint32_t vain = 0, most_vain = VAIN_SPINS;
    size_t largest_fragment = 0;

    size_t next_image = 0;
    aeron_image_t *held = nullptr; // The image of the taken message, which lies in the log.
    const uint8_t *message = nullptr;
    size_t len = 0;
};

// Set-up and teardown ----------------------------------------------------------------------------

End::~End() {
    if (assembler)
        aeron_controlled_fragment_assembler_delete(assembler);
    aeron_free(idle);
}

// Handles a whole message. A single fragment stays in the log: while the position stays, the driver keeps its memory.
aeron_controlled_fragment_handler_action_t deliver(void *end, const uint8_t *message, size_t len, aeron_header_t *) {
    auto &self = *static_cast<End *>(end);
    self.message = message;
    self.len = len;
    return len <= self.largest_fragment ? AERON_ACTION_ABORT : AERON_ACTION_BREAK;
}

aeron_controlled_fragment_handler_action_t pass(void *, const uint8_t *, size_t, aeron_header_t *) {
    return AERON_ACTION_BREAK;
}

int prepare(End &end, const ipcmark_settings &settings, const Config &config, ipcmark_error *error) {
    end.largest_fragment = config.mtu - HEADER;
    if (aeron_controlled_fragment_assembler_create(&end.assembler, deliver, &end) != 0)
        return fail(error, "make", "a fragment assembler");
    if (settings.wait == IPCMARK_SPIN)
        return IPCMARK_DONE;
    end.most_vain = VAIN_SLEEPS;
    const int made =
        aeron_idle_strategy_backoff_state_init(&end.idle, SPINS, YIELDS, SHORTEST_SLEEP_NS, LONGEST_SLEEP_NS);
    return made == 0 ? IPCMARK_DONE : fail(error, "make", "an idle strategy");
}

int start_driver(End &end, const ipcmark_settings &settings, const Config &config, const std::string &directory,
                 const ipcmark::Deadline &deadline, ipcmark_error *error) {
    // Over UDP each of the two endpoints has two logs at the same time.
    const size_t logs = config.is_network ? 4 : 1 + settings.subscribers;
    if (const int result = ipcmark_check_space(space(config, logs), error))
        return result;
    return end.driver.start({config.is_process, directory, variables(config)}, deadline, error);
}

// The leader's driver serves all endpoints; the leader sends them its directory.
int join_memory(End &end, const ipcmark_settings &settings, const Config &config, const ipcmark::Deadline &deadline,
                ipcmark_session *session, ipcmark_error *error) {
    const bool leads = settings.role == IPCMARK_LEADER;
    ipcmark_addresses addresses = {"", ""};
    const std::string directory = std::string("/dev/shm/") + settings.name + "-aeron";
    std::snprintf(addresses.there, sizeof addresses.there, "%s", place_in(directory).c_str());
    int result = leads ? start_driver(end, settings, config, directory, deadline, error) : IPCMARK_DONE;
    if (result == IPCMARK_DONE)
        result = leads ? ipcmark_send_addresses(session, &addresses, error)
                       : ipcmark_receive_addresses(session, &addresses, "Aeron's media driver", error);
    if (result == IPCMARK_DONE)
        result = end.client.connect(addresses.there, deadline, error);
    if (result == IPCMARK_DONE)
        result = end.client.subscribe(channel(config, ""), leads ? BACK : THERE, deadline, error);
    if (result == IPCMARK_DONE)
        result = end.client.publish_to(channel(config, ""), leads ? THERE : BACK, deadline, error);
    return result;
}

// Each endpoint listens at a port that the system chooses, and sends it to the other.
int listen(End &end, const ipcmark_settings &settings, const Config &config, const ipcmark::Deadline &deadline,
           ipcmark_addresses *own, ipcmark_error *error) {
    const bool leads = settings.role == IPCMARK_LEADER;
    const std::string directory = std::string("/dev/shm/") + settings.name + (leads ? "-leader" : "-follower");
    std::string endpoint;
    int result = start_driver(end, settings, config, directory, deadline, error);
    if (result == IPCMARK_DONE)
        result = end.client.connect(place_in(directory), deadline, error);
    if (result == IPCMARK_DONE)
        result = end.client.subscribe(channel(config, "127.0.0.1:0"), leads ? BACK : THERE, deadline, error);
    if (result == IPCMARK_DONE)
        result = end.client.await_endpoint(&endpoint, deadline, error);
    std::snprintf(own->there, sizeof own->there, "%s", endpoint.c_str());
    return result;
}

int join_network(End &end, const ipcmark_settings &settings, const Config &config, const ipcmark::Deadline &deadline,
                 ipcmark_session *session, ipcmark_error *error) {
    ipcmark_addresses own = {"", ""}, other;
    int result = listen(end, settings, config, deadline, &own, error);
    if (result == IPCMARK_DONE)
        result = ipcmark_send_addresses(session, &own, error);
    if (result == IPCMARK_DONE)
        result = ipcmark_receive_addresses(session, &other, "Aeron's endpoint", error);
    const int32_t stream = settings.role == IPCMARK_LEADER ? THERE : BACK;
    if (result == IPCMARK_DONE)
        result = end.client.publish_to(channel(config, other.there), stream, deadline, error);
    return result;
}

int open_end(const ipcmark_transport *transport, const ipcmark_settings *settings, ipcmark_session *session,
             void **opened, ipcmark_error *error) {
    const ipcmark::Deadline deadline(*settings);
    std::unique_ptr<End> end(new (std::nothrow) End);
    if (!end)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", nullptr);
    Config config{};
    int result = configure(*settings, *static_cast<const bool *>(transport->context), &config, error);
    if (result == IPCMARK_DONE)
        result = prepare(*end, *settings, config, error);
    if (result == IPCMARK_DONE)
        result = (config.is_network ? join_network : join_memory)(*end, *settings, config, deadline, session, error);
    if (result == IPCMARK_DONE)
        result = end->client.await_peers(session->peers, deadline, error);
    if (result == IPCMARK_DONE)
        result = session->meet(session, error);
    if (result != IPCMARK_DONE)
        return result;
    note(config, session);
    *opened = end.release();
    return IPCMARK_DONE;
}

void close_end(void *end) {
    delete static_cast<End *>(end);
}

// The hot path -----------------------------------------------------------------------------------

int fail_gone(ipcmark_error *error) {
    ipcmark_fail(error, "exchange messages with", "the other process", "it has left Aeron", nullptr);
    return IPCMARK_PEER_GONE;
}

void note_work(End &self) {
    self.vain = 0;
    if (self.idle)
        aeron_idle_strategy_backoff_idle(self.idle, 1);
}

// After an unsuccessful attempt: backs off if the endpoint may sleep.
int would_block(End &self, ipcmark_error *error) {
    if (self.idle)
        aeron_idle_strategy_backoff_idle(self.idle, 0);
    if (++self.vain % self.most_vain == 0)
        if (const int result = self.driver.check(error))
            return result;
    return IPCMARK_WOULD_BLOCK;
}

int explain(End &self, int64_t refused, ipcmark_error *error) {
    switch (refused) {
    case AERON_PUBLICATION_BACK_PRESSURED:
    case AERON_PUBLICATION_ADMIN_ACTION:
        return would_block(self, error);
    case AERON_PUBLICATION_NOT_CONNECTED:
        return fail_gone(error);
    case AERON_PUBLICATION_CLOSED:
        return ipcmark_fail(error, "publish to", "a log of Aeron", "the media driver has ended, or closed it", nullptr);
    default:
        return fail(error, "publish to", "a log of Aeron");
    }
}

int publish(void *end, void *message, size_t len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    const auto *const bytes = static_cast<const uint8_t *>(message);
    const int64_t position = aeron_exclusive_publication_offer(self.client.publication, bytes, len, nullptr, nullptr);
    if (position < 0)
        return explain(self, position, error);
    note_work(self);
    return IPCMARK_DONE;
}

// Polls fragments until a message is complete, or no fragment is left.
int poll_image(End &self, aeron_image_t *image, ipcmark_error *error) {
    int fragments;
    do {
        fragments =
            aeron_image_controlled_poll(image, aeron_controlled_fragment_assembler_handler, self.assembler, FRAGMENTS);
        if (fragments < 0)
            return fail(error, "read", "a log of Aeron");
    } while (fragments > 0 && !self.message);
    if (self.message)
        return IPCMARK_DONE;
    return aeron_image_is_closed(image) ? fail_gone(error) : IPCMARK_WOULD_BLOCK;
}

// Advances past the last message, if it lies in the log: only now, because its peer waited for the answer before.
int advance(End &self, ipcmark_error *error) {
    if (self.held && aeron_image_controlled_poll(self.held, pass, nullptr, 1) < 0)
        return fail(error, "read", "a log of Aeron");
    self.held = nullptr;
    return IPCMARK_DONE;
}

int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (const int result = advance(self, error))
        return result;
    const auto &images = self.client.images;
    self.message = nullptr;
    for (size_t n = 0; n < images.size(); n++) {
        auto *const image = images[self.next_image];
        self.next_image = self.next_image + 1 == images.size() ? 0 : self.next_image + 1;
        const int result = poll_image(self, image, error);
        if (result == IPCMARK_WOULD_BLOCK)
            continue;
        if (result != IPCMARK_DONE)
            return result;
        note_work(self);
        self.held = self.len <= self.largest_fragment ? image : nullptr;
        *message = self.message;
        *len = self.len;
        return IPCMARK_DONE;
    }
    return would_block(self, error);
}

// The definition ---------------------------------------------------------------------------------

int check(const ipcmark_transport *, const ipcmark_option *options, uint32_t count, ipcmark_error *error) {
    return check_options(options, count, error);
}

int probe_process(const ipcmark_transport *, ipcmark_error *error) {
    return find_processors(error);
}

constexpr bool MEMORY = false, NETWORK = true;

constexpr ipcmark_option_spec IDLE = {"driver-idle", "spin|backoff",
                                      "spin with a processor for each thread, else backoff",
                                      "how the media driver's threads wait"},
                              TERM = {"term-length", "64k..64M", "64 messages, from 2 MiB to 32 MiB",
                                      "bytes of each of a log's three terms, a power of two"},
                              PACKET = {"mtu", "1408..65504", "8k",
                                        "bytes of a fragment with its head, a multiple of 32"};

constexpr ipcmark_option_spec MEMORY_OPTIONS[] = {{"driver", "process|embedded", "process",
                                                   "the media driver: a program of its own, or threads of the leader"},
                                                  IDLE,
                                                  TERM,
                                                  PACKET},
                              NETWORK_OPTIONS[] = {{"threading", "dedicated|shared",
                                                    "dedicated with a processor for each thread, else shared",
                                                    "three threads in each end's media driver, or one"},
                                                   IDLE,
                                                   TERM,
                                                   PACKET};

ipcmark_transport describe(const char *name, const char *summary, uint32_t carrier, const bool *is_network) {
    auto transport = ipcmark::describe_transport(name, summary, IPCMARK_SPIN | IPCMARK_HYBRID, carrier);
    transport.context = is_network;
    transport.open = open_end;
    transport.publish = publish;
    transport.take = take;
    transport.close = close_end;
    transport.check = check;
    return transport;
}

ipcmark_transport describe_memory() {
    auto transport = describe("aeron-ipc", "Aeron's log in shared memory, one copy; beyond 8 KiB fragments, and two",
                              IPCMARK_IN_MEMORY, &MEMORY);
    transport.patterns = IPCMARK_LATENCY | IPCMARK_FAN_OUT;
    transport.max_subscribers = MOST_FOLLOWERS;
    transport.probe = probe_process;
    ipcmark::set_options(transport, MEMORY_OPTIONS);
    return transport;
}

ipcmark_transport describe_network() {
    auto transport =
        describe("aeron-udp", "Aeron over UDP, a media driver's threads in each end", IPCMARK_ON_NETWORK, &NETWORK);
    ipcmark::set_options(transport, NETWORK_OPTIONS);
    return transport;
}

const ipcmark_transport memory = describe_memory();
const ipcmark_transport network = describe_network();
const ipcmark_transport *const TRANSPORTS[] = {&memory, &network};

const char *library_version() {
    return aeron_version_text();
}

} // namespace

} // namespace aeron

const struct ipcmark_module *ipcmark_module(void) {
    static const auto module = ipcmark::describe_module("aeron", aeron::library_version, aeron::TRANSPORTS);
    return &module;
}
