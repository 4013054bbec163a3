// redis-pubsub, redis-list: messages through the session's own Redis server, with hiredis.
//
// - Mechanism: PUBLISH to a channel that the peer has subscribed to; or RPUSH to a list from which the peer takes with
//   BLPOP. A list or a channel for each direction.
// - Kernel objects: for each end two connections to the server at a socket in the session's directory.
// - Copies a message: four, into and out of two sockets, and those of hiredis and of the server.
// - Blocks: in read(2) and write(2) of a connection, for 100 ms at most; a sender also in flow control.
// - Fan-out: one PUBLISH reaches all subscribers.
// - Limits: hiredis allocates memory for every command and every answer. All ends are on one host.
#include "connection.hpp"
#include "server.hpp"

#include "shared/c/address.h"
#include "shared/cpp/description.hpp"
#include "shared/cpp/flows.hpp"
#include "shared/cpp/loaded_version.hpp"

#include <memory>
#include <new>
#include <string>

namespace redis {

namespace {

constexpr uint32_t MOST_FOLLOWERS = 64;
// The most commands with unread answers, as Redis's documentation on pipelining recommends.
constexpr uint64_t MOST_UNANSWERED = 16;

constexpr Other LEADERS = {"it has ended, or closed the connection", IPCMARK_FAILED},
                FOLLOWERS = {"it has ended, and so has the leader", IPCMARK_PEER_GONE};

struct End {
    explicit End(const Other &other) : out(other), in(other) {}

    Server server; // Only in the leader. It must outlive the connections.
    ipcmark::Flows<MOST_FOLLOWERS> flows;
    Connection out, in; // A connection that has subscribed, or waits in BLPOP, can send no other command.
    bool is_list = false, leads = false, sleeps = false;
    size_t payload = 0;
    std::string sent_to, taken_from; // The channel or the list; the names of a leader's channels end with numbers.

    bool is_sending = false, has_asked = false;
    uint64_t unanswered = 0;
    uint32_t sender = 0; // The sender of the taken message.
    Reply taken;
};

// Set-up and teardown ----------------------------------------------------------------------------

// A follower's channel tells the leader who sent a message.
void name_ways(End &end, const ipcmark_settings &settings) {
    const auto own = std::to_string(settings.subscribers > 1 ? settings.follower : 0);
    end.sent_to = end.leads ? "there" : "back-" + own;
    end.taken_from = end.leads ? "back-" : "there";
    if (end.leads && end.is_list)
        end.taken_from += "0";
}

int subscribe_to(End &end, const std::string &channel, const ipcmark::Deadline &deadline, ipcmark_error *error) {
    Reply reply;
    if (const int result = end.in.ask({"SUBSCRIBE", channel}, deadline, &reply, error))
        return result;
    const bool is_right = reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 && is_string(*reply->element[1]) &&
                          reply->element[1]->str == channel;
    return is_right ? IPCMARK_DONE : end.in.fail_strange(error);
}

int subscribe(End &end, const ipcmark::Deadline &deadline, ipcmark_error *error) {
    if (!end.leads)
        return subscribe_to(end, end.taken_from, deadline, error);
    int result = IPCMARK_DONE;
    for (uint32_t peer = 0; result == IPCMARK_DONE && peer < end.flows.size(); peer++)
        result = subscribe_to(end, end.taken_from + std::to_string(peer), deadline, error);
    return result;
}

int connect(End &end, const std::string &path, const ipcmark::Deadline &deadline, ipcmark_error *error) {
    int result = end.out.open(path, error);
    if (result == IPCMARK_DONE)
        result = end.in.open(path, error);
    return result == IPCMARK_DONE && !end.is_list ? subscribe(end, deadline, error) : result;
}

// Notes the server's version in the result.
int note_server(End &end, const ipcmark::Deadline &deadline, ipcmark_session *session, ipcmark_error *error) {
    constexpr const char *KEY = "redis_version:";
    Reply reply;
    if (const int result = end.out.ask({"INFO", "server"}, deadline, &reply, error))
        return result;
    const std::string text = is_string(*reply) ? std::string(reply->str, reply->len) : "";
    const auto at = text.find(KEY);
    if (at == std::string::npos)
        return end.out.fail_strange(error);
    const auto from = at + std::string(KEY).size();
    session->note(session, "redis-server",
                  text.substr(from, text.find_first_not_of("0123456789.", from) - from).c_str());
    std::string limit;
    for (const char *word : OUTPUT_BUFFER_LIMIT)
        limit += (limit.empty() ? "" : " ") + std::string(word);
    session->note(session, "client-output-buffer-limit", limit.c_str());
    return IPCMARK_DONE;
}

int lead(End &end, const char *directory, const ipcmark::Deadline &deadline, ipcmark_session *session,
         ipcmark_error *error) {
    int result = end.server.start(directory, deadline, error);
    if (result == IPCMARK_DONE)
        result = connect(end, end.server.path(), deadline, error);
    if (result == IPCMARK_DONE)
        result = note_server(end, deadline, session, error);
    if (result != IPCMARK_DONE)
        return result;
    ipcmark_addresses addresses = {"", ""};
    std::snprintf(addresses.there, sizeof addresses.there, "%s", end.server.path().c_str());
    return ipcmark_send_addresses(session, &addresses, error);
}

int follow(End &end, const ipcmark::Deadline &deadline, ipcmark_session *session, ipcmark_error *error) {
    ipcmark_addresses addresses;
    const int result = ipcmark_receive_addresses(session, &addresses, "a Redis server", error);
    return result == IPCMARK_DONE ? connect(end, addresses.there, deadline, error) : result;
}

int finish(End &end, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    int result = end.flows.open_bounded(settings, session, error);
    if (result == IPCMARK_DONE && !end.sleeps)
        result = end.out.stop_sleeping(error);
    if (result == IPCMARK_DONE && !end.sleeps)
        result = end.in.stop_sleeping(error);
    return result == IPCMARK_DONE ? session->meet(session, error) : result;
}

int open_end(const ipcmark_transport *transport, const ipcmark_settings *settings, ipcmark_session *session,
             void **opened, ipcmark_error *error) {
    const ipcmark::Deadline deadline(*settings);
    const bool leads = settings->role == IPCMARK_LEADER;
    std::unique_ptr<End> end(new (std::nothrow) End(leads ? LEADERS : FOLLOWERS));
    if (!end)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", nullptr);
    end->is_list = *static_cast<const bool *>(transport->context);
    end->leads = leads;
    end->sleeps = settings->wait != IPCMARK_SPIN;
    end->flows.expect(session->peers);
    end->payload = settings->payload;
    name_ways(*end, *settings);
    int result =
        leads ? lead(*end, settings->directory, deadline, session, error) : follow(*end, deadline, session, error);
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

int fail_gone(ipcmark_error *error) {
    ipcmark_fail(error, "exchange messages with", "the other process", "it has left the Redis server", nullptr);
    return IPCMARK_PEER_GONE;
}

// The answer to PUBLISH is the number of receivers, to RPUSH the length of the list.
int judge_answer(const End &self, const redisReply &answer, ipcmark_error *error) {
    if (answer.type != REDIS_REPLY_INTEGER || answer.integer < 0)
        return self.out.fail_strange(error);
    const long long fewest = self.is_list ? 1 : self.flows.size();
    return answer.integer >= fewest ? IPCMARK_DONE : fail_gone(error);
}

// Reads answers to earlier publications until few enough are left, or none has arrived.
int read_answers(End &self, ipcmark_error *error) {
    Reply answer;
    while (self.unanswered > 0) {
        int result = self.out.next(&answer, error);
        if (result == IPCMARK_DONE)
            result = judge_answer(self, *answer, error);
        if (result != IPCMARK_DONE)
            return result;
        if (--self.unanswered < MOST_UNANSWERED)
            return IPCMARK_DONE;
    }
    return IPCMARK_DONE;
}

int begin_sending(End &self, const void *message, size_t len, ipcmark_error *error) {
    if (!self.flows.have_room())
        return self.flows.are_abandoned() ? fail_gone(error) : IPCMARK_WOULD_BLOCK;
    if (self.unanswered >= MOST_UNANSWERED)
        if (const int result = read_answers(self, error))
            return result;
    const char *const words[] = {self.is_list ? "RPUSH" : "PUBLISH", self.sent_to.data(),
                                 static_cast<const char *>(message)};
    const size_t lengths[] = {self.is_list ? 5u : 7u, self.sent_to.size(), len};
    const int result = self.out.append(words, lengths, 3, error);
    self.is_sending = result == IPCMARK_DONE;
    return result;
}

int publish(void *end, void *message, size_t len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (!self.is_sending)
        if (const int result = begin_sending(self, message, len, error))
            return result;
    if (const int result = self.out.flush(error))
        return result;
    self.is_sending = false;
    self.unanswered++;
    self.flows.count_sent();
    return IPCMARK_DONE;
}

// The number at the end of the channel's name, or MOST_FOLLOWERS.
uint32_t sender_of(const End &self, const redisReply &channel) {
    const std::string &name = self.taken_from;
    if (!is_string(channel) || channel.len < name.size() || name.compare(0, name.size(), channel.str, name.size()) != 0)
        return MOST_FOLLOWERS;
    if (!self.leads || self.is_list)
        return channel.len == name.size() ? 0 : MOST_FOLLOWERS;
    uint32_t number = channel.len == name.size() ? MOST_FOLLOWERS : 0;
    for (size_t at = name.size(); at < channel.len && number < MOST_FOLLOWERS; at++) {
        const bool is_digit = channel.str[at] >= '0' && channel.str[at] <= '9';
        number = is_digit ? 10 * number + static_cast<uint32_t>(channel.str[at] - '0') : MOST_FOLLOWERS;
    }
    return number;
}

// SUBSCRIBE: "message", the channel, the message; BLPOP: the list, the message.
int deliver(End &self, const void **message, size_t *len, ipcmark_error *error) {
    const redisReply &reply = *self.taken;
    const size_t parts = self.is_list ? 2 : 3;
    if (reply.type != REDIS_REPLY_ARRAY || reply.elements != parts)
        return self.in.fail_strange(error);
    self.sender = sender_of(self, *reply.element[parts - 2]);
    const redisReply &body = *reply.element[parts - 1];
    if (self.sender >= self.flows.size() || !is_string(body) || body.len > self.payload)
        return self.in.fail_strange(error);
    self.has_asked = false;
    *message = body.str;
    *len = body.len;
    return IPCMARK_DONE;
}

// Without a time limit: the answer comes only with a message.
int ask_for_one(End &self, ipcmark_error *error) {
    if (!self.has_asked) {
        const char *const words[] = {"BLPOP", self.taken_from.data(), "0"};
        const size_t lengths[] = {5, self.taken_from.size(), 1};
        if (const int result = self.in.append(words, lengths, 3, error))
            return result;
        self.has_asked = true;
    }
    return self.in.flush(error);
}

int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    int result = self.is_list ? ask_for_one(self, error) : IPCMARK_DONE;
    if (result == IPCMARK_DONE)
        result = self.in.next(&self.taken, error);
    if (result == IPCMARK_DONE)
        return deliver(self, message, len, error);
    // After a sleep without a message.
    return result == IPCMARK_WOULD_BLOCK && self.sleeps && self.flows.is_a_peer_closed() ? fail_gone(error) : result;
}

int release(void *end, const void *, ipcmark_error *) {
    auto &self = *static_cast<End *>(end);
    self.taken.reset();
    self.flows.count_released(self.sender);
    return IPCMARK_DONE;
}

int probe(const ipcmark_transport *, ipcmark_error *error) {
    return find_server(error);
}

// The definition ---------------------------------------------------------------------------------

constexpr bool CHANNEL = false, LIST = true;

ipcmark_transport describe(const char *name, const char *summary, const bool *is_list) {
    auto transport = ipcmark::describe_transport(name, summary, IPCMARK_SPIN | IPCMARK_BLOCK, IPCMARK_IN_KERNEL);
    transport.context = is_list;
    transport.probe = probe;
    transport.open = open_end;
    transport.publish = publish;
    transport.take = take;
    transport.release = release;
    transport.close = close_end;
    return transport;
}

ipcmark_transport describe_pubsub() {
    auto transport =
        describe("redis-pubsub",
                 "PUBLISH and SUBSCRIBE by hiredis through a Redis server of the session's own, four copies", &CHANNEL);
    transport.patterns = IPCMARK_LATENCY | IPCMARK_FAN_OUT;
    transport.max_subscribers = MOST_FOLLOWERS;
    return transport;
}

const ipcmark_transport pubsub = describe_pubsub();
const ipcmark_transport list = describe(
    "redis-list", "RPUSH and BLPOP by hiredis on a list of a Redis server of the session's own, four copies", &LIST);
const ipcmark_transport *const TRANSPORTS[] = {&pubsub, &list};

const char *library_version() {
    static const std::string version =
        "hiredis " + ipcmark::loaded_version(reinterpret_cast<const void *>(&redisConnectUnixNonBlock), "0");
    return version.c_str();
}

} // namespace

} // namespace redis

const struct ipcmark_module *ipcmark_module(void) {
    static const auto module = ipcmark::describe_module("redis", redis::library_version, redis::TRANSPORTS);
    return &module;
}
