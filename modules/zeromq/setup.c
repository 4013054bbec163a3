/* Set-up and teardown of an endpoint. The leader binds its sockets and sends the followers the addresses; if it
 * publishes to subscribers, it waits until each has subscribed. */
#include "zeromq.h"

#include "shared/c/address.h"
#include "shared/c/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    QUEUE_BYTES = 64 << 20, /* The byte limit of a queue. */
    MOST_MESSAGES = 1000,   /* ZeroMQ's own default. */
    LONGEST_SLEEP_MS = 100
};

int zeromq_fail(struct ipcmark_error *error, const char *operation, const char *object) {
    return ipcmark_fail(error, operation, object, zmq_strerror(zmq_errno()), NULL);
}

void zeromq_close(void *end) {
    struct end *self = end;
    zmq_msg_close(&self->message);
    if (self->outgoing)
        zmq_close(self->outgoing);
    if (self->incoming && self->incoming != self->outgoing)
        zmq_close(self->incoming);
    /* Linger is 0: unsent messages are dropped, and this does not wait for a peer that is gone. */
    if (self->context)
        zmq_ctx_term(self->context);
    free(self);
}

/* Sockets ------------------------------------------------------------------------------------- */

struct option {
    int name, value;
};

static int set(void *socket, const struct option *options, size_t count, struct ipcmark_error *error) {
    for (size_t n = 0; n < count; n++)
        if (zmq_setsockopt(socket, options[n].name, &options[n].value, sizeof options[n].value) != 0)
            return zeromq_fail(error, "set an option of", "a ZeroMQ socket");
    return IPCMARK_DONE;
}

/* The high-water mark bounds the memory of a queue. REQ and REP have only one message in flight and keep ZeroMQ's
 * default: a REP whose queue looks full drops its reply, and the queue learns what the peer has read only every few
 * milliseconds, so a low mark loses replies. */
static int standard_mark(int type, const struct ipcmark_settings *settings) {
    const uint64_t fit = QUEUE_BYTES / settings->payload;
    const bool takes_turns = type == ZMQ_REQ || type == ZMQ_REP;
    return takes_turns || fit > MOST_MESSAGES ? MOST_MESSAGES : (int)fit;
}

/* No linger, so that close does not wait; limited sleeps, so that an endpoint can be asked to stop. */
static int configure(void *socket, int type, const struct ipcmark_settings *settings, struct ipcmark_error *error) {
    const int mark = standard_mark(type, settings);
    const struct option options[] = {{ZMQ_IPV6, settings->address && strchr(settings->address, ':')},
                                     {ZMQ_SNDHWM, ipcmark_number(settings, "send-high-water-mark", mark)},
                                     {ZMQ_RCVHWM, ipcmark_number(settings, "receive-high-water-mark", mark)},
                                     {ZMQ_SNDBUF, ipcmark_number(settings, "send-buffer", -1)},
                                     {ZMQ_RCVBUF, ipcmark_number(settings, "receive-buffer", -1)},
                                     {ZMQ_LINGER, 0},
                                     {ZMQ_SNDTIMEO, LONGEST_SLEEP_MS},
                                     {ZMQ_RCVTIMEO, LONGEST_SLEEP_MS}};
    return set(socket, options, sizeof options / sizeof *options, error);
}

/* A publisher waits if a subscriber's queue is full, instead of dropping the message there, and receives every
 * subscription and unsubscription. */
static int configure_type(void *socket, int type, struct ipcmark_error *error) {
    const struct option publishing[] = {{ZMQ_XPUB_NODROP, 1}, {ZMQ_XPUB_VERBOSER, 1}};
    if (type == ZMQ_XPUB)
        return set(socket, publishing, 2, error);
    if (type == ZMQ_SUB && zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0) != 0)
        return zeromq_fail(error, "subscribe", "a ZeroMQ socket");
    return IPCMARK_DONE;
}

static int make_socket(struct end *self, void **socket, int type, const struct ipcmark_settings *settings,
                       struct ipcmark_error *error) {
    *socket = zmq_socket(self->context, type);
    if (!*socket)
        return zeromq_fail(error, "make", "a ZeroMQ socket");
    const int result = configure(*socket, type, settings, error);
    return result == IPCMARK_DONE ? configure_type(*socket, type, error) : result;
}

static bool has_two_ways(const struct kind *kind) {
    return kind->there.leader != kind->back.leader || kind->there.follower != kind->back.follower;
}

static int make_sockets(struct end *self, const struct kind *kind, const struct ipcmark_settings *settings,
                        struct ipcmark_error *error) {
    const bool leads = settings->role == IPCMARK_LEADER;
    const int out = leads ? kind->there.leader : kind->back.follower;
    const int in = leads ? kind->back.leader : kind->there.follower;
    const int result = make_socket(self, &self->outgoing, out, settings, error);
    if (result != IPCMARK_DONE || has_two_ways(kind))
        return result == IPCMARK_DONE ? make_socket(self, &self->incoming, in, settings, error) : result;
    self->incoming = self->outgoing;
    return IPCMARK_DONE;
}

static void note_all(const struct end *self, struct ipcmark_session *session) {
    int sent = 0, received = 0;
    size_t len = sizeof sent;
    zmq_getsockopt(self->outgoing, ZMQ_SNDHWM, &sent, &len);
    zmq_getsockopt(self->incoming, ZMQ_RCVHWM, &received, &len);
    char text[48];
    snprintf(text, sizeof text, "%d messages sent, %d received", sent, received);
    session->note(session, "high-water marks", text);
    snprintf(text, sizeof text, "%d", zmq_ctx_get(self->context, ZMQ_IO_THREADS));
    session->note(session, "I/O threads", text);
}

/* Connections --------------------------------------------------------------------------------- */

/* Binds a socket to its own address, and writes it to `address`; for TCP the system chooses a port. */
static int bind_socket(void *socket, const struct kind *kind, const char *suffix,
                       const struct ipcmark_settings *settings, char address[IPCMARK_ADDRESS_BYTES],
                       struct ipcmark_error *error) {
    if (!kind->tcp)
        snprintf(address, IPCMARK_ADDRESS_BYTES, "ipc://@%s%s", settings->name, suffix);
    else
        ipcmark_tcp_url(address, IPCMARK_ADDRESS_BYTES, settings, "*");
    if (zmq_bind(socket, address) != 0)
        return zeromq_fail(error, "bind a ZeroMQ socket to", address);
    size_t len = IPCMARK_ADDRESS_BYTES;
    if (zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, address, &len) != 0)
        return zeromq_fail(error, "ask for the address of", "a ZeroMQ socket");
    return IPCMARK_DONE;
}

static int bind_end(struct end *self, const struct kind *kind, const struct ipcmark_settings *settings,
                    struct ipcmark_session *session, struct ipcmark_error *error) {
    struct ipcmark_addresses bound = {"", ""};
    int result = bind_socket(self->outgoing, kind, "", settings, bound.there, error);
    if (result == IPCMARK_DONE && has_two_ways(kind))
        result = bind_socket(self->incoming, kind, "-back", settings, bound.back, error);
    return result == IPCMARK_DONE ? ipcmark_send_addresses(session, &bound, error) : result;
}

/* ZeroMQ connects in the background, for as long as it takes. This waits for the event. */
static int await_connection(void *monitor, const char *address, const struct ipcmark_settings *settings,
                            struct ipcmark_error *error) {
    const int limit_ms = (int)(settings->connect_ns / 1000000);
    zmq_setsockopt(monitor, ZMQ_RCVTIMEO, &limit_ms, sizeof limit_ms);
    int len = -1;
    do
        len = zmq_recv(monitor, NULL, 0, 0);
    while (len < 0 && zmq_errno() == EINTR);
    if (len >= 0)
        return IPCMARK_DONE;
    if (zmq_errno() != EAGAIN)
        return zeromq_fail(error, "watch", "a ZeroMQ socket");
    char cause[64];
    snprintf(cause, sizeof cause, "it does not answer within %g s", (double)settings->connect_ns / 1e9);
    return ipcmark_fail(error, "connect to", address, cause, settings->address ? "see if a firewall is between" : NULL);
}

static int connect_socket(struct end *self, void *socket, const char *address, const struct ipcmark_settings *settings,
                          struct ipcmark_error *error) {
    const char *const events = socket == self->incoming ? "inproc://incoming" : "inproc://outgoing";
    void *const monitor = zmq_socket(self->context, ZMQ_PAIR);
    int result = IPCMARK_DONE;
    if (!monitor || zmq_socket_monitor(socket, events, ZMQ_EVENT_CONNECTED) != 0 || zmq_connect(monitor, events) != 0)
        result = zeromq_fail(error, "watch", "a ZeroMQ socket");
    else if (zmq_connect(socket, address) != 0)
        result = zeromq_fail(error, "connect a ZeroMQ socket to", address);
    else
        result = await_connection(monitor, address, settings, error);
    zmq_socket_monitor(socket, NULL, 0);
    if (monitor)
        zmq_close(monitor);
    return result;
}

static int connect_end(struct end *self, const struct kind *kind, const struct ipcmark_settings *settings,
                       struct ipcmark_session *session, struct ipcmark_error *error) {
    struct ipcmark_addresses bound;
    int result = ipcmark_receive_addresses(session, &bound, "a ZeroMQ socket", error);
    if (result != IPCMARK_DONE)
        return result;
    result = connect_socket(self, self->incoming, bound.there, settings, error);
    if (result == IPCMARK_DONE && has_two_ways(kind))
        result = connect_socket(self, self->outgoing, bound.back, settings, error);
    return result;
}

/* Subscriptions ------------------------------------------------------------------------------- */

/* A subscription begins with a byte 1, an unsubscription with a byte 0. A message published before a follower's
 * subscription has arrived would not reach it. */
static int await_subscriptions(struct end *self, const struct ipcmark_settings *settings, struct ipcmark_error *error) {
    const uint64_t limit_ms = settings->connect_ns / 1000000;
    const uint32_t followers = settings->subscribers;
    uint32_t subscribed = 0;
    for (uint64_t waited_ms = 0; subscribed < followers && waited_ms < limit_ms;) {
        unsigned char first = 0;
        const int len = zmq_recv(self->outgoing, &first, 1, 0);
        if (len > 0 && first == 0) {
            ipcmark_fail(error, "open", "a ZeroMQ publisher", "a follower has ended its subscription", NULL);
            return IPCMARK_PEER_GONE;
        }
        subscribed += len > 0;
        if (len < 0 && zmq_errno() == EAGAIN)
            waited_ms += LONGEST_SLEEP_MS;
        else if (len < 0 && zmq_errno() != EINTR)
            return zeromq_fail(error, "receive a subscription at", "a ZeroMQ publisher");
    }
    if (subscribed == followers)
        return IPCMARK_DONE;
    char cause[96];
    snprintf(cause, sizeof cause, "%u of %u followers have subscribed within %g s", subscribed, followers,
             (double)settings->connect_ns / 1e9);
    return ipcmark_fail(error, "open", "a ZeroMQ publisher", cause, NULL);
}

int zeromq_set_up(struct end *self, const struct kind *kind, const struct ipcmark_settings *settings,
                  struct ipcmark_session *session, struct ipcmark_error *error) {
    const bool leads = settings->role == IPCMARK_LEADER;
    int result = make_sockets(self, kind, settings, error);
    if (result != IPCMARK_DONE)
        return result;
    note_all(self, session);
    result = leads ? bind_end(self, kind, settings, session, error) : connect_end(self, kind, settings, session, error);
    if (result == IPCMARK_DONE)
        result = session->meet(session, error);
    if (result == IPCMARK_DONE && leads && kind->there.leader == ZMQ_XPUB)
        result = await_subscriptions(self, settings, error);
    return result;
}
