// alephzero-pubsub: a publisher and a zero-copy subscriber over an arena in a shared file.
//
// - Mechanism: a linked list of packets in a mapped file, behind a robust mutex; one file for each direction.
// - Kernel objects: two files in /dev/shm, removed once both ends have opened them; futexes behind mutex and condition.
// - Copies a message: one, into the arena; the receiver reads it there.
// - Blocks: on the arena's condition, 100 ms at most. `spin` asks whether there is a packet to read.
// - Limits: a full arena evicts the oldest packet, read or not, so it is made for twice as many packets as may be under
//   way.
#include "alephzero.hpp"

#include "shared/c/space.h"
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

struct End {
    ipcmark::FlowControl flow;
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

// Room for twice as many packets as may be under way, for each must lie in one piece.
size_t arena_of(const ipcmark_settings &settings) {
    const size_t bytes = (2 * depth_of(settings) + 2) * (settings.payload + PACKET_HEAD) + 65536;
    return (bytes + 4095) / 4096 * 4096;
}

void close_end(void *end) {
    auto *self = static_cast<End *>(end);
    if (self->subscribes)
        a0_subscriber_sync_zc_close(&self->subscriber);
    if (self->publishes)
        a0_publisher_close(&self->publisher);
    delete self;
}

// Both processes may make both files: the second one finds them.
int open_files(End &end, const ipcmark_settings &settings, ipcmark_error *error) {
    const bool leads = settings.role == IPCMARK_LEADER;
    const a0_file_options_t file = alephzero::file_options(arena_of(settings));
    const a0_pubsub_topic_t out{leads ? "there" : "back", &file}, in{leads ? "back" : "there", &file};
    if (const a0_err_t why = a0_publisher_init(&end.publisher, out))
        return fail(error, why, "make", "a publisher of AlephZero");
    end.publishes = true;
    if (const a0_err_t why = a0_subscriber_sync_zc_init(&end.subscriber, in, {A0_INIT_OLDEST, A0_ITER_NEXT}))
        return fail(error, why, "make", "a subscriber of AlephZero");
    end.subscribes = true;
    return IPCMARK_DONE;
}

// The leader makes the files before the follower looks for them.
int open_in_turn(End &end, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    const bool leads = settings.role == IPCMARK_LEADER;
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
    if (const int result = ipcmark_check_space(2 * arena_of(*settings), error))
        return result;
    auto *end = new (std::nothrow) End;
    if (!end)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", nullptr);
    end->spins = settings->wait == IPCMARK_SPIN;
    int result = end->flow.open(leads, depth_of(*settings), session, error);
    if (result == IPCMARK_DONE)
        result = open_in_turn(*end, *settings, session, error);
    if (leads)
        alephzero::remove_directory(settings->name);
    if (result != IPCMARK_DONE) {
        close_end(end);
        return result;
    }
    session->note(session, "arena", (std::to_string(arena_of(*settings)) + " bytes").c_str());
    session->note(session, "under way", (std::to_string(end->flow.depth()) + " messages").c_str());
    *opened = end;
    return IPCMARK_DONE;
}

// The hot path -----------------------------------------------------------------------------------

int publish(void *end, void *message, size_t len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (!self.flow.has_room())
        return IPCMARK_WOULD_BLOCK;
    if (const a0_err_t why = a0_packet_init(&self.packet))
        return fail(error, why, "make", "a packet of AlephZero");
    self.packet.payload = {static_cast<uint8_t *>(message), len};
    if (const a0_err_t why = a0_publisher_pub(&self.publisher, self.packet))
        return fail(error, why, "publish", "a packet of AlephZero");
    self.flow.count_sent();
    return IPCMARK_DONE;
}

// Called with the arena locked. The packet stays in place until it is released: flow control keeps the other end from
// publishing so many that it would be evicted.
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
    static_cast<End *>(end)->flow.count_released();
    return IPCMARK_DONE;
}

// The definition ---------------------------------------------------------------------------------

ipcmark_transport describe() {
    ipcmark_transport transport = alephzero::describe(
        "alephzero-pubsub", "AlephZero's publisher and zero-copy subscriber over an arena in a shared file, one copy",
        IPCMARK_SPIN | IPCMARK_BLOCK, 0);
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
