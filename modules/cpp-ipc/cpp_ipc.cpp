// cpp-ipc-channel, cpp-ipc-route: lock-free queues of cpp-ipc, one object for each direction.
//
// Fan-out: each message of the leader's object reaches all its receivers. An object has 32 at most, so with more
// followers the leader has several, and sends into each. In both rows, followers send their answers into one channel,
// which allows many writers.
//
// - Mechanism: a ring of 256 slots in shared memory. A message of up to 64 bytes lies in a slot; for a larger one the
//   slot refers to one of 32 chunks, which both directions share.
// - Kernel objects: shared memory objects whose names begin with the session's name, made when a size is first sent;
//   the leader removes them after both ends have closed.
// - Copies a message: one, into shared memory; a small one is also copied out.
// - Blocks: in try_send and recv, after some polls by the library itself, 100 ms at most: that is `hybrid`. It has no
//   call that sleeps at once.
// - Limits: `send` overwrites messages that were not read for a while, so `try_send` is used, with no more unread
//   messages than there are chunks.
#include "shared/c/space.h"
#include "shared/cpp/budget.hpp"
#include "shared/cpp/description.hpp"
#include "shared/cpp/flow_control.hpp"
#include "shared/cpp/within.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <dirent.h>

#include <libipc/ipc.h>

namespace {

constexpr uint64_t LONGEST_SLEEP_MS = 100;

// There is room for each message, but a queue with many writers refuses one while another writer is between two steps.
// Then the library tries again if it has time, and only sleeps after 32 tries. With no time it gives up, and loses the
// chunk of a large message: after 32 of them it sends parts, and loses some (1.4.1).
constexpr uint64_t LONGEST_SEND_MS = 100;

constexpr std::chrono::seconds CLOSED_WITHIN{2};

// The largest message in a slot, and the most unread messages in slots and in chunks: both directions share 32 chunks,
// and each endpoint may hold one more.
constexpr uint64_t SLOT_BYTES = 64, SLOT_DEPTH = 64, CHUNK_DEPTH = 12;

// The most unread answers of several followers in one channel, which has its own chunks.
constexpr uint64_t SLOT_ANSWERS = 128, CHUNK_ANSWERS = 24;
// A queue of the library has 32 receivers and 32 chunks, and a receiver may hold one more.
constexpr uint32_t MOST_RECEIVERS = 31, MOST_FOLLOWERS = 64;

template <typename Channel> struct End {
    std::string name;
    bool leads;
    uint64_t sleep_ms;
    uint32_t followers;
    uint32_t peers = 0;
    ipcmark::FlowControl flows[MOST_FOLLOWERS]{}; // One for each peer.
    std::vector<std::unique_ptr<Channel>> outs{}; // Several followers have none, and their leader no `in`:
    std::unique_ptr<Channel> in{};                // they use the channel of answers, and a common budget.
    std::unique_ptr<ipc::channel> answers{};
    ipcmark::Budget budget{};
    size_t sent = 0; // The number of objects that have the message of this publication already.
    ipc::buff_t taken{};

    bool answers_many() const { return followers > 1 && !leads; }
    bool takes_answers() const { return followers > 1 && leads; }
};

// Set-up and teardown ----------------------------------------------------------------------------

uint64_t depth_for(uint64_t payload) {
    if (payload <= SLOT_BYTES)
        return SLOT_DEPTH;
    return std::clamp<uint64_t>((8u << 20) / payload, 2, CHUNK_DEPTH);
}

// At least one for each follower, as far as there are chunks.
uint64_t answers_for(const ipcmark_settings &settings) {
    if (settings.payload <= SLOT_BYTES)
        return SLOT_ANSWERS;
    const uint64_t fitting = std::min((8u << 20) / settings.payload, CHUNK_ANSWERS);
    return std::max<uint64_t>(fitting, std::min(settings.subscribers, MOST_RECEIVERS));
}

// The number of the leader's objects.
uint32_t groups_for(uint32_t followers) {
    return (followers + MOST_RECEIVERS - 1) / MOST_RECEIVERS;
}

// The object of a follower, so that each object has as many receivers as another, or one more.
uint32_t group_of(uint32_t follower, uint32_t followers) {
    return follower % groups_for(followers);
}

// The number of an object's receivers.
uint32_t receivers_of(uint32_t group, uint32_t followers) {
    const uint32_t groups = groups_for(followers);
    return (followers + groups - 1 - group) / groups;
}

// Removes all objects of the session: their names begin with `<session>-`. Session 3's do not begin like session 30's.
void remove_names(const std::string &session) {
    const std::string begin = session + "-";
    DIR *directory = opendir("/dev/shm");
    if (!directory)
        return;
    while (const dirent *entry = readdir(directory))
        if (std::string(entry->d_name).rfind(begin, 0) == 0)
            unlinkat(dirfd(directory), entry->d_name, 0);
    closedir(directory);
}

template <typename Channel> void close_end(void *end) {
    auto *self = static_cast<End<Channel> *>(end);
    self->taken = {};
    self->in.reset();
    self->outs.clear();
    self->answers.reset();
    if (self->leads) {
        const auto deadline = ipcmark::FlowControl::Clock::now() + CLOSED_WITHIN;
        for (uint32_t peer = 0; peer < self->peers; peer++)
            self->flows[peer].await_peer_close(deadline);
        remove_names(self->name);
    }
    delete self;
}

// All endpoints have made their objects; waits until each has found the others' receivers.
template <typename Channel> int connect(End<Channel> &end, const ipcmark::Deadline &deadline, ipcmark_error *error) {
    const auto is_connected = [&] {
        if (end.answers_many())
            return end.answers->wait_for_recv(1, LONGEST_SLEEP_MS);
        for (uint32_t group = 0; group < end.outs.size(); group++)
            if (!end.outs[group]->wait_for_recv(receivers_of(group, end.peers), LONGEST_SLEEP_MS))
                return false;
        return true;
    };
    if (ipcmark::holds_by(deadline, is_connected))
        return IPCMARK_DONE;
    const auto cause = deadline.missed("no receiver comes");
    return ipcmark_fail(error, "connect", "an object of cpp-ipc", cause.c_str(), nullptr);
}

// The library keeps chunks mapped by name until the process ends: under a reused name it would find removed chunks. So
// each opening gets a number, which the leader counts.
int agree_on_number(bool leads, unsigned *number, ipcmark_session *session, ipcmark_error *error) {
    static unsigned opened = 0;
    size_t len = sizeof *number, none = 0;
    if (!leads)
        return session->receive(session, 0, number, &len, nullptr, &none, error);
    *number = ++opened;
    for (uint32_t peer = 0; peer < session->peers; peer++)
        if (const int result = session->send(session, peer, number, len, nullptr, 0, error))
            return result;
    return IPCMARK_DONE;
}

template <typename Channel>
int open_flows(End<Channel> &end, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    for (; end.peers < session->peers; end.peers++)
        if (const int result = end.flows[end.peers].open(end.leads, depth_for(settings.payload), session, error,
                                                         end.peers, settings.wait))
            return result;
    return end.followers > 1 ? end.budget.open(end.leads, answers_for(settings), settings.wait, session, error)
                             : IPCMARK_DONE;
}

// Chunks belong to a prefix, not to a name: two objects with one prefix would use each other's chunks.
template <typename Channel> bool make_objects(End<Channel> &end, uint32_t follower, const std::string &start) {
    const auto there = [&](uint32_t group) { return start + "-there-" + std::to_string(group); };
    const std::string back = start + "-back";
    const auto object = [](const std::string &prefix, unsigned mode) {
        return std::make_unique<Channel>(ipc::prefix{prefix.c_str()}, "messages", mode);
    };
    if (end.leads) {
        for (uint32_t group = 0; group < groups_for(end.followers); group++)
            end.outs.push_back(object(there(group), ipc::sender));
    } else {
        end.in = object(there(group_of(follower, end.followers)), ipc::receiver);
    }
    if (end.followers > 1)
        end.answers = std::make_unique<ipc::channel>(ipc::prefix{back.c_str()}, "answers",
                                                     end.leads ? ipc::receiver : ipc::sender);
    else if (end.leads)
        end.in = object(back, ipc::receiver);
    else
        end.outs.push_back(object(back, ipc::sender));
    const auto is_valid = [](const auto &object) { return !object || object->valid(); };
    return is_valid(end.answers) && std::all_of(end.outs.begin(), end.outs.end(), is_valid) && is_valid(end.in);
}

template <typename Channel>
int open_objects(End<Channel> &end, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    const ipcmark::Deadline deadline(settings);
    if (const int result = open_flows(end, settings, session, error))
        return result;
    unsigned number = 0;
    if (const int result = agree_on_number(end.leads, &number, session, error))
        return result;
    if (!make_objects(end, settings.follower, end.name + "-" + std::to_string(number)))
        return ipcmark_fail(error, "open", "an object of cpp-ipc", "the library does not say why", nullptr);
    if (const int result = session->meet(session, error))
        return result;
    if (const int result = connect(end, deadline, error))
        return result;
    return session->meet(session, error);
}

template <typename Channel>
int open_end(const ipcmark_transport *, const ipcmark_settings *settings, ipcmark_session *session, void **opened,
             ipcmark_error *error) {
    const uint64_t depth = depth_for(settings->payload);
    const uint64_t answers = settings->subscribers > 1 ? answers_for(*settings) : depth;
    const uint32_t groups = groups_for(settings->subscribers);
    if (const int result = ipcmark_check_space((groups * depth + answers + 4) * settings->payload + (4u << 20), error))
        return result;
    const bool leads = settings->role == IPCMARK_LEADER;
    const uint64_t sleep_ms = settings->wait == IPCMARK_SPIN ? 0 : LONGEST_SLEEP_MS;
    auto *end = new (std::nothrow) End<Channel>{settings->name, leads, sleep_ms, settings->subscribers};
    if (!end)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", nullptr);
    const int result = open_objects(*end, *settings, session, error);
    if (result != IPCMARK_DONE) {
        close_end<Channel>(end);
        return result;
    }
    session->note(session, "under way", (std::to_string(depth) + " messages").c_str());
    if (leads && groups > 1)
        session->note(session, "objects", (std::to_string(groups) + ", each with its receivers").c_str());
    *opened = end;
    return IPCMARK_DONE;
}

// The hot path -----------------------------------------------------------------------------------

template <typename Channel> int answer(End<Channel> &self, void *message, size_t len) {
    if (!self.budget.has_room() || !self.answers->try_send(message, len, LONGEST_SEND_MS))
        return IPCMARK_WOULD_BLOCK;
    self.budget.count_sent();
    return IPCMARK_DONE;
}

template <typename Channel> int publish(void *end, void *message, size_t len, ipcmark_error *) {
    auto &self = *static_cast<End<Channel> *>(end);
    if (self.answers_many())
        return answer(self, message, len);
    for (uint32_t peer = 0; peer < self.peers; peer++)
        if (!self.flows[peer].has_room())
            return IPCMARK_WOULD_BLOCK;
    for (; self.sent < self.outs.size(); self.sent++)
        if (!self.outs[self.sent]->try_send(message, len, LONGEST_SEND_MS))
            return IPCMARK_WOULD_BLOCK;
    self.sent = 0;
    for (uint32_t peer = 0; peer < self.peers; peer++)
        self.flows[peer].count_sent();
    return IPCMARK_DONE;
}

template <typename Object> ipc::buff_t receive(Object &object, uint64_t sleep_ms) {
    return sleep_ms == 0 ? object.try_recv() : object.recv(sleep_ms);
}

template <typename Channel> int take(void *end, const void **message, size_t *len, ipcmark_error *) {
    auto &self = *static_cast<End<Channel> *>(end);
    self.taken = self.takes_answers() ? receive(*self.answers, self.sleep_ms) : receive(*self.in, self.sleep_ms);
    if (self.taken.empty())
        return IPCMARK_WOULD_BLOCK;
    *message = self.taken.data();
    *len = self.taken.size();
    return IPCMARK_DONE;
}

template <typename Channel> int release(void *end, const void *, ipcmark_error *) {
    auto &self = *static_cast<End<Channel> *>(end);
    self.taken = {};
    if (self.takes_answers())
        self.budget.count_released();
    else
        self.flows[0].count_released();
    return IPCMARK_DONE;
}

// The definition ---------------------------------------------------------------------------------

template <typename Channel> ipcmark_transport describe(const char *name, const char *summary) {
    auto transport = ipcmark::describe_transport(name, summary, IPCMARK_SPIN | IPCMARK_HYBRID, IPCMARK_IN_MEMORY);
    transport.patterns = IPCMARK_LATENCY | IPCMARK_FAN_OUT;
    transport.max_subscribers = MOST_FOLLOWERS;
    transport.open = open_end<Channel>;
    transport.publish = publish<Channel>;
    transport.take = take<Channel>;
    transport.release = release<Channel>;
    transport.close = close_end<Channel>;
    return transport;
}

const ipcmark_transport channel = describe<ipc::channel>(
    "cpp-ipc-channel", "ipc::channel, many writers and many readers, over a lock-free queue in shared memory");
const ipcmark_transport route = describe<ipc::route>(
    "cpp-ipc-route", "ipc::route, one writer and many readers, over a lock-free queue in shared memory");

const ipcmark_transport *const TRANSPORTS[] = {&channel, &route};

} // namespace

const struct ipcmark_module *ipcmark_module(void) {
    // The library has no function for its version, and no other source of it.
    static const auto module = ipcmark::describe_module("cpp-ipc", nullptr, TRANSPORTS);
    return &module;
}
