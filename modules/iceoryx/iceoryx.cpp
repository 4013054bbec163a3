// iceoryx-cpp, iceoryx-c, iceoryx-waitset: chunks of shared memory handed over by publish-subscribe.
//
// - Mechanism: a publisher and a subscriber each side, one topic for each direction, with chunks of
//   a pool of shared memory; a lock-free queue of their places for each subscriber.
// - Kernel objects: the shared memory and sockets of iceoryx's daemon, which the leader starts with
//   a pool for this payload and ends again; iceoryx-waitset sleeps on a semaphore. Copies a message:
//   none.
// - Blocks: iceoryx-waitset in the WaitSet; the other two only poll.
// - Limits: the daemon's names in /tmp and /dev/shm are fixed, so outside a sandbox one session a
//   machine. The daemon takes about 70 MiB of /dev/shm for itself.
#include "link.hpp"
#include "ports.hpp"
#include "runtime.hpp"

#include <chrono>
#include <memory>
#include <new>
#include <thread>

#include <iceoryx_versions.hpp>

namespace {

using namespace ipcmark;

constexpr std::chrono::seconds CONNECTED_WITHIN{5};

template <typename Ports> struct End {
    Link link;
    std::unique_ptr<Ports> ports;
    void *on_loan = nullptr;
};

// Set-up -----------------------------------------------------------------------------------------

template <typename Ports> void close_end(void *end) {
    auto *self = static_cast<End<Ports> *>(end);
    if (self->on_loan)
        self->ports->give_back(self->on_loan);
    // Ports of a daemon that is dead cannot be taken back, for that asks the daemon.
    if (self->link.is_daemon_gone())
        (void)self->ports.release();
    self->ports.reset();
    self->link.close();
    delete self;
}

// A port is the daemon's to make. Where it dies meanwhile, what has been made stays behind.
template <typename Ports> int make_ports(End<Ports> &end, const Topics &topics, ipcmark_error *error) {
    const auto made = std::make_shared<std::unique_ptr<Ports>>();
    const auto make = [made, topics, depth = end.link.pair.depth()] { *made = std::make_unique<Ports>(topics, depth); };
    const int result = end.link.enter(make, error);
    if (result == IPCMARK_DONE)
        end.ports = std::move(*made);
    return result;
}

template <typename Ports> int connect(End<Ports> &end, ipcmark_error *error) {
    const auto deadline = std::chrono::steady_clock::now() + CONNECTED_WITHIN;
    while (!end.ports->are_connected()) {
        if (int result = end.link.check(error))
            return result;
        if (std::chrono::steady_clock::now() > deadline)
            return ipcmark_fail(error, "connect", "publishers and subscribers of iceoryx",
                                "they do not find each other", nullptr);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return IPCMARK_DONE;
}

template <typename Ports>
int open_end(const ipcmark_transport *, const ipcmark_settings *settings, ipcmark_session *session, void **opened,
             ipcmark_error *error) {
    auto *end = new (std::nothrow) End<Ports>;
    if (!end)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", nullptr);
    int result = end->link.open(*settings, session, error);
    if (result == IPCMARK_DONE) {
        const Topics topics(settings->name, settings->role == IPCMARK_LEADER);
        result = make_ports(*end, topics, error);
    }
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
    const int result = end.link.check(error);
    return result == IPCMARK_DONE ? IPCMARK_WOULD_BLOCK : result;
}

template <typename Ports> int loan(void *end, size_t len, void **room, ipcmark_error *error) {
    auto &self = *static_cast<End<Ports> *>(end);
    if (!self.link.pair.has_room())
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
    self.link.pair.count_sent();
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
    self.link.pair.count_released();
    return IPCMARK_DONE;
}

int sleep(void *end, uint64_t timeout_ns, ipcmark_error *error) {
    auto &self = *static_cast<End<WaitSetPorts> *>(end);
    if (int result = self.link.check(error))
        return result;
    self.ports->sleep(timeout_ns);
    return IPCMARK_DONE;
}

// The definition ---------------------------------------------------------------------------------

int remove_names(const ipcmark_transport *, const char *name, ipcmark_error *) {
    if (*name)
        remove_registration(name);
    remove_daemon_files();
    return IPCMARK_DONE;
}

const char *library_version() {
    return ICEORYX_LATEST_RELEASE_VERSION;
}

const ipcmark_option_spec options[] = {
    {"depth", "2..256", "what 8 MiB hold, from 2 to 128", "messages that a queue holds"},
};

template <typename Ports> ipcmark_transport describe(const char *name, const char *summary, uint32_t waits) {
    ipcmark_transport transport{};
    transport.size = sizeof transport;
    transport.flags = IPCMARK_LOANS | IPCMARK_EXCLUSIVE | IPCMARK_IN_MEMORY;
    transport.name = name;
    transport.summary = summary;
    transport.max_payload = 4 << 20;
    transport.waits = waits;
    transport.patterns = IPCMARK_LATENCY;
    transport.max_subscribers = 1;
    transport.open = open_end<Ports>;
    transport.publish = publish<Ports>;
    transport.take = take<Ports>;
    transport.close = close_end<Ports>;
    transport.loan = loan<Ports>;
    transport.release = release<Ports>;
    transport.remove = remove_names;
    transport.options = options;
    transport.option_count = sizeof options / sizeof *options;
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

const ipcmark_transport *const transports[] = {&cpp, &c, &wait_set};

struct ipcmark_module describe_module() {
    struct ipcmark_module module{};
    module.size = sizeof module;
    module.abi_version = IPCMARK_ABI_VERSION;
    module.family = "iceoryx";
    module.library_version = library_version;
    module.transports = transports;
    module.transport_count = 3;
    return module;
}

} // namespace

const struct ipcmark_module *ipcmark_module(void) {
    static const struct ipcmark_module module = describe_module();
    return &module;
}
