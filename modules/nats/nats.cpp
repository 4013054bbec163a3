// nats: messages through the session's own NATS server, with its C client.
//
// - Mechanism: natsConnection_Publish to a subject that the peer has subscribed to; one subject for each direction.
// - Kernel objects: for each end a TCP connection to the server, over the loopback interface; threads of the library,
//   one of which reads.
// - Copies a message: four, into and out of two sockets, and those of the library and of the server.
// - Blocks: in a condition that the library's thread signals, for 100 ms at most; a sender in flow control.
// - Fan-out: one publication reaches all subscribers.
// - Limits: the library allocates memory for every message. All ends are on one host.
#include "server.hpp"

#include "shared/c/address.h"
#include "shared/cpp/description.hpp"
#include "shared/cpp/environment.hpp"
#include "shared/cpp/flows.hpp"
#include "shared/cpp/within.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include <nats/nats.h>

namespace nats {

namespace {

constexpr uint32_t MOST_FOLLOWERS = 64;
constexpr int64_t LONGEST_SLEEP_MS = 100;
constexpr const char *OBJECT = "nats-server";

struct End {
    End() = default;
    End(const End &) = delete;
    End &operator=(const End &) = delete;
    ~End();

    Server server; // Only in the leader. It must outlive the connection.
    ipcmark::Flows<MOST_FOLLOWERS> flows;
    natsConnection *connection = nullptr;
    natsSubscription *subscription = nullptr;
    natsMsg *taken = nullptr;
    bool leads = false;
    int64_t patience_ms = 0;
    uint32_t sender = 0; // The sender of the taken message.
    std::string sent_to, taken_from;
};

// Set-up and teardown ----------------------------------------------------------------------------

End::~End() {
    natsMsg_Destroy(taken);
    natsSubscription_Destroy(subscription);
    natsConnection_Destroy(connection);
}

int fail(const End &end, ipcmark_error *error, const char *operation, natsStatus status) {
    const bool is_gone = status == NATS_CONNECTION_CLOSED || status == NATS_CONNECTION_DISCONNECTED ||
                         status == NATS_IO_ERROR || status == NATS_NOT_YET_CONNECTED;
    const char *const gone =
        end.leads ? "it has ended, or closed the connection" : "it has ended, and so has the leader";
    ipcmark_fail(error, operation, OBJECT, is_gone ? gone : natsStatus_GetText(status), nullptr);
    return is_gone && !end.leads ? IPCMARK_PEER_GONE : IPCMARK_FAILED;
}

struct FreeOptions {
    void operator()(natsOptions *options) const { natsOptions_Destroy(options); }
};

// The publishing thread sends a message itself, which the library recommends for request and reply; by default a thread
// of the library sends accumulated messages.
natsStatus connect(End &end, const std::string &url, const ipcmark::Deadline &deadline) {
    natsOptions *made = nullptr;
    natsStatus status = natsOptions_Create(&made);
    const std::unique_ptr<natsOptions, FreeOptions> options(made);
    if (status == NATS_OK)
        status = natsOptions_SetURL(made, url.c_str());
    if (status == NATS_OK)
        status = natsOptions_SetTimeout(made, deadline.left().count());
    if (status == NATS_OK)
        status = natsOptions_SetSendAsap(made, true);
    if (status == NATS_OK)
        status = natsOptions_SetAllowReconnect(made, false);
    return status == NATS_OK ? natsConnection_Connect(&end.connection, made) : status;
}

// A server closes the connection of a client for which more bytes wait. Flow control bounds the messages of each
// follower to 8 MiB; a message has some bytes in front.
uint64_t pending_for(uint64_t followers) {
    return std::max<uint64_t>(DEFAULT_MAX_PENDING, followers * (9u << 20));
}

// The library drops no message: flow control bounds those of each follower, not those of all. The server has the
// subscription when it answers the next command.
natsStatus subscribe(End &end, const ipcmark::Deadline &deadline) {
    natsStatus status = natsConnection_SubscribeSync(&end.subscription, end.connection, end.taken_from.c_str());
    if (status == NATS_OK)
        status = natsSubscription_SetPendingLimits(end.subscription, -1, -1);
    return status == NATS_OK ? natsConnection_FlushTimeout(end.connection, deadline.left().count()) : status;
}

int join(End &end, const std::string &url, const ipcmark::Deadline &deadline, ipcmark_error *error) {
    ipcmark::forget_variables_of("NATS_");
    natsStatus status = connect(end, url, deadline);
    if (status != NATS_OK)
        return fail(end, error, "connect with", status);
    status = subscribe(end, deadline);
    return status == NATS_OK ? IPCMARK_DONE : fail(end, error, "subscribe with", status);
}

int lead(End &end, const ipcmark_settings &settings, const ipcmark::Deadline &deadline, ipcmark_session *session,
         ipcmark_error *error) {
    const Limits limits{settings.payload, pending_for(settings.subscribers)};
    int result = end.server.start(settings.directory, limits, deadline, error);
    if (result == IPCMARK_DONE)
        result = join(end, end.server.url(), deadline, error);
    if (result != IPCMARK_DONE)
        return result;
    ipcmark_addresses addresses = {"", ""};
    std::snprintf(addresses.there, sizeof addresses.there, "%s", end.server.url().c_str());
    return ipcmark_send_addresses(session, &addresses, error);
}

int follow(End &end, const ipcmark::Deadline &deadline, ipcmark_session *session, ipcmark_error *error) {
    ipcmark_addresses addresses;
    const int result = ipcmark_receive_addresses(session, &addresses, OBJECT, error);
    return result == IPCMARK_DONE ? join(end, addresses.there, deadline, error) : result;
}

// A follower's subject tells the leader who sent a message.
void name_ways(End &end, const ipcmark_settings &settings) {
    const uint32_t own = settings.subscribers > 1 ? settings.follower : 0;
    end.sent_to = end.leads ? "there" : "back." + std::to_string(own);
    end.taken_from = end.leads ? "back.*" : "there";
}

int finish(End &end, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    session->note(session, "send at once", "on");
    const int result = end.flows.open_bounded(settings, session, error);
    return result == IPCMARK_DONE ? session->meet(session, error) : result;
}

int open_end(const ipcmark_transport *, const ipcmark_settings *settings, ipcmark_session *session, void **opened,
             ipcmark_error *error) {
    const ipcmark::Deadline deadline(*settings);
    std::unique_ptr<End> end(new (std::nothrow) End);
    if (!end)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", nullptr);
    end->leads = settings->role == IPCMARK_LEADER;
    end->patience_ms = settings->wait == IPCMARK_SPIN ? 0 : LONGEST_SLEEP_MS;
    end->flows.expect(session->peers);
    name_ways(*end, *settings);
    int result = end->leads ? lead(*end, *settings, deadline, session, error) : follow(*end, deadline, session, error);
    if (result == IPCMARK_DONE)
        result = finish(*end, *settings, session, error);
    if (result == IPCMARK_DONE)
        *opened = end.release();
    return result;
}

void close_end(void *end) {
    delete static_cast<End *>(end);
}

// The hot path -----------------------------------------------------------------------------------

int fail_left(ipcmark_error *error) {
    ipcmark_fail(error, "exchange messages with", "the other process", "it has left the NATS server", nullptr);
    return IPCMARK_PEER_GONE;
}

int publish(void *end, void *message, size_t len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (!self.flows.have_room())
        return self.flows.are_abandoned() ? fail_left(error) : IPCMARK_WOULD_BLOCK;
    const natsStatus status =
        natsConnection_Publish(self.connection, self.sent_to.c_str(), message, static_cast<int>(len));
    if (status != NATS_OK)
        return fail(self, error, "send to", status);
    self.flows.count_sent();
    return IPCMARK_DONE;
}

int wait_in_vain(const End &self, ipcmark_error *error) {
    return self.patience_ms > 0 && self.flows.is_a_peer_closed() ? fail_left(error) : IPCMARK_WOULD_BLOCK;
}

int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    const natsStatus status = natsSubscription_NextMsg(&self.taken, self.subscription, self.patience_ms);
    if (status == NATS_TIMEOUT)
        return wait_in_vain(self, error);
    if (status != NATS_OK)
        return fail(self, error, "receive from", status);
    const char *const number = std::strchr(natsMsg_GetSubject(self.taken), '.');
    self.sender = number ? static_cast<uint32_t>(std::strtoul(number + 1, nullptr, 10)) : 0;
    if (self.sender >= self.flows.size())
        return ipcmark_fail(error, "receive from", OBJECT, "its message is of no follower", nullptr);
    *message = natsMsg_GetData(self.taken);
    *len = static_cast<size_t>(natsMsg_GetDataLength(self.taken));
    return IPCMARK_DONE;
}

int release(void *end, const void *, ipcmark_error *) {
    auto &self = *static_cast<End *>(end);
    natsMsg_Destroy(self.taken);
    self.taken = nullptr;
    self.flows.count_released(self.sender);
    return IPCMARK_DONE;
}

int probe(const ipcmark_transport *, ipcmark_error *error) {
    return find_server(error);
}

// The definition ---------------------------------------------------------------------------------

ipcmark_transport describe() {
    auto transport = ipcmark::describe_transport(
        "nats", "publish and subscribe through a NATS server of the session's own over TCP, four copies",
        IPCMARK_SPIN | IPCMARK_BLOCK, IPCMARK_ON_NETWORK);
    transport.patterns = IPCMARK_LATENCY | IPCMARK_FAN_OUT;
    transport.max_subscribers = MOST_FOLLOWERS;
    transport.probe = probe;
    transport.open = open_end;
    transport.publish = publish;
    transport.take = take;
    transport.release = release;
    transport.close = close_end;
    return transport;
}

const ipcmark_transport subjects = describe();
const ipcmark_transport *const TRANSPORTS[] = {&subjects};

} // namespace

} // namespace nats

const struct ipcmark_module *ipcmark_module(void) {
    static const auto module = ipcmark::describe_module("nats", nats_GetVersion, nats::TRANSPORTS);
    return &module;
}
