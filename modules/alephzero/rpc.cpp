// alephzero-rpc: a request and its reply over an arena in a shared file.
//
// - Mechanism: client and server write packets into one file; a thread of the library in each process reads it and
//   calls back. The library's own blocking call does the same.
// - Kernel objects: a file in /dev/shm, removed once both ends have opened it; futexes.
// - Copies a message: two, into the arena and out of it by the library's thread.
// - Blocks: on a condition that the library's thread wakes, 100 ms at most.
// - Limits: request and reply alternate.
#include "alephzero.hpp"

#include "shared/c/space.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include <a0/rpc.h>

namespace {

using alephzero::fail;

constexpr size_t PACKET_HEAD = 1024; // An upper bound of the bytes that the library adds to a payload.
constexpr std::chrono::milliseconds LONGEST_SLEEP{100};

struct End {
    bool leads = false, is_open = false;
    a0_rpc_client_t client{};
    a0_rpc_server_t server{};
    // The message from the library's thread, guarded by the mutex until it is taken.
    std::mutex mutex;
    std::condition_variable arrived;
    bool has_arrived = false;
    a0_rpc_request_t request{};
    a0_buf_t payload{};
    // The buffers into which the library unpacks packets: one message may be taken and another have arrived while the
    // library reads a third, for example this endpoint's own.
    std::vector<uint8_t> buffers[3];
    int spare = 0;
    a0_rpc_request_t taken{};
};

// Set-up and teardown ----------------------------------------------------------------------------

// Room for some packets of each side. Old ones are evicted long after they were read.
size_t arena_for(uint64_t payload) {
    return (6 * (payload + PACKET_HEAD) + (1u << 20) + 4095) / 4096 * 4096;
}

a0_err_t lend_buffer(void *end, size_t size, a0_buf_t *out) {
    auto &self = *static_cast<End *>(end);
    auto &buffer = self.buffers[self.spare];
    if (size > buffer.size())
        return A0_ERR_RANGE;
    *out = {buffer.data(), size};
    return A0_OK;
}

a0_err_t take_buffer_back(void *, a0_buf_t) {
    return A0_OK;
}

void arrive(End &self, a0_buf_t payload) {
    {
        const std::lock_guard<std::mutex> guard(self.mutex);
        self.payload = payload;
        self.has_arrived = true;
    }
    self.spare = (self.spare + 1) % 3;
    self.arrived.notify_one();
}

void on_request(void *end, a0_rpc_request_t request) {
    auto &self = *static_cast<End *>(end);
    self.request = request;
    arrive(self, request.pkt.payload);
}

void on_reply(void *end, a0_packet_t reply) {
    arrive(*static_cast<End *>(end), reply.payload);
}

void close_end(void *end) {
    auto *self = static_cast<End *>(end);
    if (self->is_open && self->leads)
        a0_rpc_client_close(&self->client);
    else if (self->is_open)
        a0_rpc_server_close(&self->server);
    delete self;
}

int open_file(End &end, const ipcmark_settings &settings, ipcmark_error *error) {
    const a0_file_options_t file = alephzero::file_options(arena_for(settings.payload));
    const a0_rpc_topic_t topic{"messages", &file};
    const a0_alloc_t alloc{&end, lend_buffer, take_buffer_back};
    const a0_err_t why = end.leads ? a0_rpc_client_init(&end.client, topic, alloc)
                                   : a0_rpc_server_init(&end.server, topic, alloc, {&end, on_request}, {});
    if (why != A0_OK)
        return fail(error, why, "make", end.leads ? "a client of AlephZero" : "a server of AlephZero");
    end.is_open = true;
    return IPCMARK_DONE;
}

// The server creates the file and listens before the client connects.
int open_in_turn(End &end, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    alephzero::use_directory(settings.name);
    if (const int result = end.leads ? IPCMARK_DONE : open_file(end, settings, error))
        return result;
    if (const int result = session->meet(session, error))
        return result;
    if (const int result = end.leads ? open_file(end, settings, error) : IPCMARK_DONE)
        return result;
    return session->meet(session, error);
}

int open_end(const ipcmark_transport *, const ipcmark_settings *settings, ipcmark_session *session, void **opened,
             ipcmark_error *error) {
    if (const int result = ipcmark_check_space(arena_for(settings->payload), error))
        return result;
    auto *end = new (std::nothrow) End;
    if (!end)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", nullptr);
    end->leads = settings->role == IPCMARK_LEADER;
    for (auto &buffer : end->buffers)
        buffer.assign(settings->payload + PACKET_HEAD, 0);
    int result = end->leads ? IPCMARK_DONE : alephzero::make_directory(settings->name, error);
    const bool made = result == IPCMARK_DONE && !end->leads;
    if (result == IPCMARK_DONE)
        result = open_in_turn(*end, *settings, session, error);
    // Both ends have met: nobody needs the names.
    if (made)
        alephzero::remove_directory(settings->name);
    if (result != IPCMARK_DONE) {
        close_end(end);
        return result;
    }
    session->note(session, "arena", (std::to_string(arena_for(settings->payload)) + " bytes").c_str());
    *opened = end;
    return IPCMARK_DONE;
}

// The hot path -----------------------------------------------------------------------------------

int publish(void *end, void *message, size_t len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    a0_packet_t packet;
    if (const a0_err_t why = a0_packet_init(&packet))
        return fail(error, why, "make", "a packet of AlephZero");
    packet.payload = {static_cast<uint8_t *>(message), len};
    const a0_err_t why = self.leads ? a0_rpc_client_send(&self.client, packet, {&self, on_reply})
                                    : a0_rpc_server_reply(self.taken, packet);
    return why == A0_OK ? IPCMARK_DONE : fail(error, why, "send", "a packet of AlephZero");
}

int take(void *end, const void **message, size_t *len, ipcmark_error *) {
    auto &self = *static_cast<End *>(end);
    std::unique_lock<std::mutex> lock(self.mutex);
    if (!self.arrived.wait_for(lock, LONGEST_SLEEP, [&self] { return self.has_arrived; }))
        return IPCMARK_WOULD_BLOCK;
    self.has_arrived = false;
    self.taken = self.request;
    *message = self.payload.data;
    *len = self.payload.size;
    return IPCMARK_DONE;
}

// The definition ---------------------------------------------------------------------------------

ipcmark_transport describe() {
    ipcmark_transport transport = alephzero::describe(
        "alephzero-rpc",
        "AlephZero's request and reply over an arena in a shared file, two copies and a thread each side",
        IPCMARK_BLOCK, IPCMARK_ALTERNATING);
    transport.open = open_end;
    transport.publish = publish;
    transport.take = take;
    transport.close = close_end;
    return transport;
}

} // namespace

const ipcmark_transport alephzero_rpc = describe();
