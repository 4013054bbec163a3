// alephzero-pubsub: a publisher and a zero-copy subscriber over an arena in a shared file.
//
// - Mechanism: a linked list of packets in a mapped file, behind a robust mutex; one file for each direction.
// - Kernel objects: two files in /dev/shm, removed once both ends have opened them; futexes behind mutex and condition.
// - Copies a message: one, into the arena; the receiver reads it there.
// - Blocks: on the arena's condition, 100 ms at most. `spin` polls for a packet to read.
// - Fan-out: all followers read the leader's file, each at its own position, and all of them publish into the other.
// - Limits: a full arena evicts the oldest packet, read or not, so it has room for twice as many packets as may be
//   unread.
#include "alephzero.hpp"

#include "shared/c/space.h"
#include "shared/cpp/budget.hpp"
#include "shared/cpp/description.hpp"
#include "shared/cpp/flow_control.hpp"
#include "shared/cpp/options.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include <a0/pubsub.h>

namespace {

using alephzero::fail;

constexpr size_t ARENA_BYTES = 16u << 20;
constexpr uint64_t LEAST_DEPTH = 2, MOST_DEPTH = 128;
constexpr size_t PACKET_HEAD = 512; // An upper bound of the bytes that the library adds to a payload.
constexpr int64_t LONGEST_SLEEP_NS = 100'000'000;

const ipcmark_option_spec OPTIONS[] = {
    {"depth", "2..4096", "what 8 MiB hold, from 2 to 128",
     "messages that may be under way; the arena holds twice as many"},
};

constexpr uint32_t MOST_FOLLOWERS = 64;

struct End {
    bool leads = false;
    uint32_t peers = 0;
    ipcmark::FlowControl flows[MOST_FOLLOWERS]; // One for each peer.
    ipcmark::Budget answers;                    // Of several followers.
    bool has_several = false;                   // The leader has several followers.
    a0_publisher_t publisher{};
    a0_subscriber_sync_zc_t subscriber{};
    bool publishes = false, subscribes = false, spins = false;
    a0_packet_t packet{};
    a0_buf_t taken{};
};

// Set-up and teardown ----------------------------------------------------------------------------

uint64_t depth_of(const ipcmark_settings &settings) {
    const auto held = ARENA_BYTES / 2 / (settings.payload + PACKET_HEAD);
    return ipcmark::number(settings, "depth", std::clamp<uint64_t>(held, LEAST_DEPTH, MOST_DEPTH));
}

// Each of several followers can have at least one unread answer.
uint64_t answers_of(const ipcmark_settings &settings) {
    return std::max<uint64_t>(depth_of(settings), settings.subscribers);
}

// Room for twice as many packets as may be unread, because each must be contiguous.
size_t arena_for(uint64_t depth, const ipcmark_settings &settings) {
    const size_t bytes = (2 * depth + 2) * (settings.payload + PACKET_HEAD) + 65536;
    return (bytes + 4095) / 4096 * 4096;
}

size_t arenas_of(const ipcmark_settings &settings) {
    return arena_for(depth_of(settings), settings) + arena_for(answers_of(settings), settings);
}

void close_end(void *end) {
    auto *self = static_cast<End *>(end);
    if (self->subscribes)
        a0_subscriber_sync_zc_close(&self->subscriber);
    if (self->publishes)
        a0_publisher_close(&self->publisher);
    delete self;
}

// Every process may create both files: later ones open the existing files.
int open_files(End &end, const ipcmark_settings &settings, ipcmark_error *error) {
    const a0_file_options_t there_file = alephzero::file_options(arena_for(depth_of(settings), settings));
    const a0_file_options_t back_file = alephzero::file_options(arena_for(answers_of(settings), settings));
    const a0_pubsub_topic_t there{"there", &there_file}, back{"back", &back_file};
    const a0_pubsub_topic_t &out = end.leads ? there : back, &in = end.leads ? back : there;
    if (const a0_err_t why = a0_publisher_init(&end.publisher, out))
        return fail(error, why, "make", "a publisher of AlephZero");
    end.publishes = true;
    if (const a0_err_t why = a0_subscriber_sync_zc_init(&end.subscriber, in, {A0_INIT_OLDEST, A0_ITER_NEXT}))
        return fail(error, why, "make", "a subscriber of AlephZero");
    end.subscribes = true;
    return IPCMARK_DONE;
}

int open_flows(End &end, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    end.leads = settings.role == IPCMARK_LEADER;
    end.peers = session->peers;
    end.has_several = settings.subscribers > 1;
    for (uint32_t peer = 0; peer < end.peers; peer++)
        if (const int result = end.flows[peer].open(end.leads, depth_of(settings), session, error, peer, settings.wait))
            return result;
    return end.has_several ? end.answers.open(end.leads, answers_of(settings), settings.wait, session, error)
                           : IPCMARK_DONE;
}

// The leader creates the files before the followers open them.
int open_in_turn(End &end, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    const bool leads = end.leads;
    alephzero::use_directory(settings.name);
    if (const int result = leads ? open_files(end, settings, error) : IPCMARK_DONE)
        return result;
    if (const int result = session->meet(session, error))
        return result;
    if (const int result = leads ? IPCMARK_DONE : open_files(end, settings, error))
        return result;
    return session->meet(session, error);
}

int open_end(const ipcmark_transport *, const ipcmark_settings *settings, ipcmark_session *session, void **opened,
             ipcmark_error *error) {
    const bool leads = settings->role == IPCMARK_LEADER;
    if (const int result = ipcmark_check_space(arenas_of(*settings), error))
        return result;
    auto *end = new (std::nothrow) End;
    if (!end)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", nullptr);
    end->spins = settings->wait == IPCMARK_SPIN;
    int result = open_flows(*end, *settings, session, error);
    if (result == IPCMARK_DONE && leads)
        result = alephzero::make_directory(settings->name, error);
    const bool made = result == IPCMARK_DONE && leads;
    if (result == IPCMARK_DONE)
        result = open_in_turn(*end, *settings, session, error);
    if (made)
        alephzero::remove_directory(settings->name);
    if (result != IPCMARK_DONE) {
        close_end(end);
        return result;
    }
    const auto arena = std::to_string(arena_for(depth_of(*settings), *settings));
    session->note(session, "arena", (arena + " bytes").c_str());
    session->note(session, "under way", (std::to_string(depth_of(*settings)) + " messages").c_str());
    *opened = end;
    return IPCMARK_DONE;
}

// The hot path -----------------------------------------------------------------------------------

bool has_room(End &self) {
    if (self.has_several && !self.leads)
        return self.answers.has_room();
    return std::all_of(self.flows, self.flows + self.peers, [](auto &flow) { return flow.has_room(); });
}

void count_sent(End &self) {
    if (self.has_several && !self.leads)
        self.answers.count_sent();
    else
        std::for_each(self.flows, self.flows + self.peers, [](auto &flow) { flow.count_sent(); });
}

int publish(void *end, void *message, size_t len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (!has_room(self))
        return IPCMARK_WOULD_BLOCK;
    if (const a0_err_t why = a0_packet_init(&self.packet))
        return fail(error, why, "make", "a packet of AlephZero");
    self.packet.payload = {static_cast<uint8_t *>(message), len};
    if (const a0_err_t why = a0_publisher_pub(&self.publisher, self.packet))
        return fail(error, why, "publish", "a packet of AlephZero");
    count_sent(self);
    return IPCMARK_DONE;
}

// Called with the arena locked. The packet stays in place until it is released: flow control keeps the peer from
// publishing so many packets that it would be evicted.
void on_packet(void *end, a0_transport_locked_t, a0_flat_packet_t packet) {
    a0_flat_packet_payload(packet, &static_cast<End *>(end)->taken);
}

a0_err_t read_one(End &self) {
    const a0_zero_copy_callback_t callback{&self, on_packet};
    if (self.spins) {
        bool can_read = false;
        const a0_err_t why = a0_subscriber_sync_zc_can_read(&self.subscriber, &can_read);
        if (why != A0_OK || !can_read)
            return why == A0_OK ? A0_ERR_AGAIN : why;
        return a0_subscriber_sync_zc_read(&self.subscriber, callback);
    }
    a0_time_mono_t now, until;
    a0_time_mono_now(&now);
    a0_time_mono_add(now, LONGEST_SLEEP_NS, &until);
    return a0_subscriber_sync_zc_read_blocking_timeout(&self.subscriber, &until, callback);
}

int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    const a0_err_t why = read_one(self);
    if (why == A0_ERR_AGAIN || (why == A0_ERR_SYS && a0_err_syscode == ETIMEDOUT))
        return IPCMARK_WOULD_BLOCK;
    if (why != A0_OK)
        return fail(error, why, "read", "a packet of AlephZero");
    *message = self.taken.data;
    *len = self.taken.size;
    return IPCMARK_DONE;
}

int release(void *end, const void *, ipcmark_error *) {
    auto &self = *static_cast<End *>(end);
    if (self.has_several && self.leads)
        self.answers.count_released();
    else
        self.flows[0].count_released();
    return IPCMARK_DONE;
}

// The definition ---------------------------------------------------------------------------------

ipcmark_transport describe() {
    ipcmark_transport transport = alephzero::describe(
        "alephzero-pubsub", "AlephZero's publisher and zero-copy subscriber over an arena in a shared file, one copy",
        IPCMARK_SPIN | IPCMARK_BLOCK, 0);
    transport.patterns = IPCMARK_LATENCY | IPCMARK_FAN_OUT;
    transport.max_subscribers = MOST_FOLLOWERS;
    transport.open = open_end;
    transport.publish = publish;
    transport.take = take;
    transport.release = release;
    transport.close = close_end;
    ipcmark::set_options(transport, OPTIONS);
    return transport;
}

} // namespace

const ipcmark_transport alephzero_pubsub = describe();
