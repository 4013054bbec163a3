// cpp-ipc-channel, cpp-ipc-route: lock-free queues of cpp-ipc, one object for each direction.
//
// - Mechanism: a ring of 256 slots in shared memory. A message of up to 64 bytes lies in a slot; for
//   a larger one the slot names one of 32 chunks, which both directions share.
// - Kernel objects: shared memories that begin with the session's name, made as sizes come; the
//   leader removes them when both ends have closed. Copies a message: one, into shared memory; a
//   small one is copied out, too.
// - Blocks: in try_send and recv, after some rounds of polling of the library's own, 100 ms at most:
//   that is to be `hybrid`. It has no call that sleeps at once.
// - Limits: what does not fit is overwritten after a while by `send`, so `try_send` is used, and no
//   more messages are under way than there are chunks for.
#include "../pair.hpp"
#include "../space.h"

#include <ipcmark/transport.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <string>

#include <dirent.h>

#include <libipc/ipc.h>

namespace {

constexpr uint64_t LONGEST_SLEEP_MS = 100;
constexpr std::chrono::seconds CONNECTED_WITHIN{5};

// Messages in a slot, and those in chunks: both directions share 32, and each may hold one more.
constexpr uint64_t SLOT_BYTES = 64, SLOT_DEPTH = 64, CHUNK_DEPTH = 12;

template <typename Channel> struct End {
    std::string name;
    bool leads;
    uint64_t sleep_ms;
    ipcmark::Pair pair;
    std::unique_ptr<Channel> out, in;
    ipc::buff_t taken;
};

// Set-up -----------------------------------------------------------------------------------------

uint64_t depth_for(uint64_t payload) {
    if (payload <= SLOT_BYTES)
        return SLOT_DEPTH;
    return std::clamp<uint64_t>((8u << 20) / payload, 2, CHUNK_DEPTH);
}

// Removes everything whose name begins with the session's.
int remove_names(const ipcmark_transport *, const char *session, ipcmark_error *) {
    DIR *directory = *session ? opendir("/dev/shm") : nullptr;
    if (!directory)
        return IPCMARK_DONE;
    while (const dirent *entry = readdir(directory))
        if (std::string(entry->d_name).rfind(session, 0) == 0)
            unlinkat(dirfd(directory), entry->d_name, 0);
    closedir(directory);
    return IPCMARK_DONE;
}

template <typename Channel> void close_end(void *end) {
    auto *self = static_cast<End<Channel> *>(end);
    self->taken = {};
    self->in.reset();
    self->out.reset();
    if (self->leads) {
        self->pair.await_other();
        remove_names(nullptr, self->name.c_str(), nullptr);
    }
    delete self;
}

// Both ends have made their objects; waits until each has found the other's receiver.
template <typename Channel> int connect(End<Channel> &end, ipcmark_error *error) {
    const auto deadline = std::chrono::steady_clock::now() + CONNECTED_WITHIN;
    while (!end.out->wait_for_recv(1, LONGEST_SLEEP_MS))
        if (std::chrono::steady_clock::now() > deadline)
            return ipcmark_fail(error, "connect", "an object of cpp-ipc", "no receiver comes", nullptr);
    return IPCMARK_DONE;
}

// The library keeps chunks mapped to the end of the process, by name: a name that comes again would
// find those that were removed. The leader counts.
int agree_on_number(bool leads, unsigned *number, ipcmark_session *session, ipcmark_error *error) {
    static unsigned opened = 0;
    size_t len = sizeof *number, none = 0;
    if (!leads)
        return session->receive(session, 0, number, &len, nullptr, &none, error);
    *number = ++opened;
    return session->send(session, 0, number, len, nullptr, 0, error);
}

template <typename Channel>
int open_objects(End<Channel> &end, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    if (int result = end.pair.open(end.leads, depth_for(settings.payload), session, error))
        return result;
    unsigned number = 0;
    if (int result = agree_on_number(end.leads, &number, session, error))
        return result;
    // Chunks belong to a prefix, not to a name: two directions under one would take each other's.
    const std::string start = end.name + "-" + std::to_string(number);
    const std::string there = start + "-there", back = start + "-back";
    const std::string &to = end.leads ? there : back, &from = end.leads ? back : there;
    end.out = std::make_unique<Channel>(ipc::prefix{to.c_str()}, "messages", ipc::sender);
    end.in = std::make_unique<Channel>(ipc::prefix{from.c_str()}, "messages", ipc::receiver);
    if (!end.out->valid() || !end.in->valid())
        return ipcmark_fail(error, "open", "an object of cpp-ipc", "the library does not say why", nullptr);
    if (int result = session->meet(session, error))
        return result;
    if (int result = connect(end, error))
        return result;
    return session->meet(session, error);
}

template <typename Channel>
int open_end(const ipcmark_transport *, const ipcmark_settings *settings, ipcmark_session *session, void **opened,
             ipcmark_error *error) {
    const uint64_t depth = depth_for(settings->payload);
    if (int result = ipcmark_check_space(2 * (depth + 2) * settings->payload + (4u << 20), error))
        return result;
    const bool leads = settings->role == IPCMARK_LEADER;
    const uint64_t sleep_ms = settings->wait == IPCMARK_SPIN ? 0 : LONGEST_SLEEP_MS;
    auto *end = new (std::nothrow) End<Channel>{settings->name, leads, sleep_ms, {}, {}, {}, {}};
    if (!end)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", nullptr);
    const int result = open_objects(*end, *settings, session, error);
    if (result != IPCMARK_DONE) {
        close_end<Channel>(end);
        return result;
    }
    session->note(session, "under way", (std::to_string(depth) + " messages").c_str());
    *opened = end;
    return IPCMARK_DONE;
}

// The hot path -----------------------------------------------------------------------------------

template <typename Channel> int publish(void *end, void *message, size_t len, ipcmark_error *) {
    auto &self = *static_cast<End<Channel> *>(end);
    if (!self.pair.has_room() || !self.out->try_send(message, len, self.sleep_ms))
        return IPCMARK_WOULD_BLOCK;
    self.pair.count_sent();
    return IPCMARK_DONE;
}

template <typename Channel> int take(void *end, const void **message, size_t *len, ipcmark_error *) {
    auto &self = *static_cast<End<Channel> *>(end);
    self.taken = self.sleep_ms == 0 ? self.in->try_recv() : self.in->recv(self.sleep_ms);
    if (self.taken.empty())
        return IPCMARK_WOULD_BLOCK;
    *message = self.taken.data();
    *len = self.taken.size();
    return IPCMARK_DONE;
}

template <typename Channel> int release(void *end, const void *, ipcmark_error *) {
    auto &self = *static_cast<End<Channel> *>(end);
    self.taken = {};
    self.pair.count_released();
    return IPCMARK_DONE;
}

// The definition ---------------------------------------------------------------------------------

template <typename Channel> ipcmark_transport describe(const char *name, const char *summary) {
    ipcmark_transport transport{};
    transport.size = sizeof transport;
    transport.flags = IPCMARK_IN_MEMORY;
    transport.name = name;
    transport.summary = summary;
    transport.max_payload = 4 << 20;
    transport.waits = IPCMARK_SPIN | IPCMARK_HYBRID;
    transport.patterns = IPCMARK_LATENCY;
    transport.max_subscribers = 1;
    transport.open = open_end<Channel>;
    transport.publish = publish<Channel>;
    transport.take = take<Channel>;
    transport.release = release<Channel>;
    transport.close = close_end<Channel>;
    transport.remove = remove_names;
    return transport;
}

const ipcmark_transport channel = describe<ipc::channel>(
    "cpp-ipc-channel", "ipc::channel, many writers and many readers, over a lock-free queue in shared memory");
const ipcmark_transport route = describe<ipc::route>(
    "cpp-ipc-route", "ipc::route, one writer and many readers, over a lock-free queue in shared memory");

const ipcmark_transport *const transports[] = {&channel, &route};

// The library does not say which version it is.
struct ipcmark_module describe_module() {
    struct ipcmark_module module{};
    module.size = sizeof module;
    module.abi_version = IPCMARK_ABI_VERSION;
    module.family = "cpp-ipc";
    module.transports = transports;
    module.transport_count = 2;
    return module;
}

} // namespace

const struct ipcmark_module *ipcmark_module(void) {
    static const struct ipcmark_module module = describe_module();
    return &module;
}
