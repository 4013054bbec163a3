/* Set-up and teardown of an endpoint. The leader listens and sends the followers the addresses; a publisher waits until
 * each follower is connected. */
#include "endpoint.h"

#include "shared/c/address.h"
#include "shared/c/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <nng/protocol/pubsub0/sub.h>
#include <nng/protocol/reqrep0/req.h>

enum {
    LONGEST_SLEEP_MS = 100,
    LONGEST_LOSSY_SLEEP_MS = 10, /* If the message may be lost. */
    NEVER_MS = 3600 * 1000,
    HEAD_BYTES = 64,        /* An upper bound of a protocol's head, which counts as part of the message. */
    QUEUE_BYTES = 64 << 20, /* The byte limit of a publish-subscribe queue, */
    MOST_MESSAGES = 1000    /* and its message limit. */
};

int nng_fail(struct ipcmark_error *error, const char *operation, const char *object, int code) {
    return ipcmark_fail(error, operation, object, nng_strerror(code), NULL);
}

/* A socket that was not made has the number 0, which NNG refuses to close. */
void nng_close_end(void *end) {
    struct end *self = end;
    nng_msg_free(self->message);
    nng_close(self->outgoing);
    if (self->incoming.id != self->outgoing.id)
        nng_close(self->incoming);
    if (self->connected >= 0)
        close(self->connected);
    free(self);
}

/* Sockets ------------------------------------------------------------------------------------- */

/* Limits sleeps, and allows messages as large as the payload. */
static int configure(nng_socket socket, const struct kind *kind, const struct ipcmark_settings *settings,
                     struct ipcmark_error *error) {
    const bool leads = settings->role == IPCMARK_LEADER;
    const int limit = nng_publishes(kind) ? LONGEST_LOSSY_SLEEP_MS : LONGEST_SLEEP_MS;
    const int send_ms = kind->requests && !leads ? NNG_DURATION_INFINITE : limit;
    const int receive_ms = kind->requests && leads ? NNG_DURATION_INFINITE : limit;
    int code = nng_socket_set_ms(socket, NNG_OPT_SENDTIMEO, send_ms);
    if (code == 0)
        code = nng_socket_set_ms(socket, NNG_OPT_RECVTIMEO, receive_ms);
    if (code == 0)
        code = nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, settings->payload + HEAD_BYTES);
    return code ? nng_fail(error, "set an option of", "an NNG socket", code) : IPCMARK_DONE;
}

static int make_socket(nng_socket *socket, int (*open)(nng_socket *), const struct kind *kind,
                       const struct ipcmark_settings *settings, struct ipcmark_error *error) {
    const int code = open(socket);
    return code ? nng_fail(error, "make", "an NNG socket", code) : configure(*socket, kind, settings, error);
}

static int make_sockets(struct end *self, const struct kind *kind, const struct ipcmark_settings *settings,
                        struct ipcmark_error *error) {
    const bool leads = settings->role == IPCMARK_LEADER;
    nng_socket *const there = leads ? &self->outgoing : &self->incoming;
    nng_socket *const back = leads ? &self->incoming : &self->outgoing;
    const int result = make_socket(there, leads ? kind->there.leader : kind->there.follower, kind, settings, error);
    if (result == IPCMARK_DONE && nng_publishes(kind))
        return make_socket(back, leads ? kind->back.leader : kind->back.follower, kind, settings, error);
    *back = *there;
    return result;
}

/* Keeps REQ from sending a request a second time, which would arrive twice. */
static int set_request(struct end *self, struct ipcmark_error *error) {
    int code = nng_socket_set_ms(self->outgoing, NNG_OPT_REQ_RESENDTIME, NEVER_MS);
    if (code == 0 && self->flags == NNG_FLAG_NONBLOCK)
        code = nng_socket_get_int(self->outgoing, NNG_OPT_RECVFD, &self->answered);
    return code ? nng_fail(error, "set an option of", "an NNG socket", code) : IPCMARK_DONE;
}

/* Called by a thread of NNG. */
static void count_connection(nng_pipe pipe, nng_pipe_ev event, void *end) {
    (void)pipe, (void)event;
    (void)eventfd_write(((struct end *)end)->connected, 1);
}

static int count_connections(struct end *self, nng_socket socket, struct ipcmark_error *error) {
    if (self->connected < 0)
        self->connected = eventfd(0, EFD_CLOEXEC);
    if (self->connected < 0)
        return ipcmark_fail_errno(error, "make", "an eventfd", errno, "ulimit -n 1024");
    const int code = nng_pipe_notify(socket, NNG_PIPE_EV_ADD_POST, count_connection, self);
    return code ? nng_fail(error, "watch", "an NNG socket", code) : IPCMARK_DONE;
}

/* Waits for as many connections, at most as long as an end may open; returns their number. */
static unsigned await_connections(const struct end *self, const struct ipcmark_settings *settings, unsigned wanted) {
    const uint64_t limit_ms = settings->connect_ns / 1000000;
    eventfd_t count = 0, connected = 0;
    struct pollfd connections = {.fd = self->connected, .events = POLLIN};
    for (uint64_t waited_ms = 0; connected < wanted && waited_ms < limit_ms;) {
        const int ready = poll(&connections, 1, LONGEST_SLEEP_MS);
        if (ready > 0 && eventfd_read(self->connected, &count) == 0)
            connected += count;
        else if (ready == 0)
            waited_ms += LONGEST_SLEEP_MS;
    }
    return (unsigned)connected;
}

/* Bounds the bytes of the publisher's queue for each follower, and of a follower's queue. */
static int set_publication(struct end *self, const struct ipcmark_settings *settings, struct ipcmark_error *error) {
    const uint64_t fit = QUEUE_BYTES / settings->payload;
    const int depth = fit < MOST_MESSAGES ? (int)fit : MOST_MESSAGES;
    if (settings->role != IPCMARK_LEADER) {
        int code = nng_socket_set(self->incoming, NNG_OPT_SUB_SUBSCRIBE, "", 0);
        if (code == 0)
            code =
                nng_socket_set_int(self->incoming, NNG_OPT_RECVBUF, ipcmark_number(settings, "receive-queue", depth));
        return code ? nng_fail(error, "subscribe", "an NNG socket", code) : IPCMARK_DONE;
    }
    const int result = count_connections(self, self->outgoing, error);
    if (result != IPCMARK_DONE)
        return result;
    const int code = nng_socket_set_int(self->outgoing, NNG_OPT_SENDBUF, ipcmark_number(settings, "send-queue", depth));
    return code ? nng_fail(error, "set an option of", "an NNG publisher", code) : IPCMARK_DONE;
}

static int set_queues(struct end *self, const struct ipcmark_settings *settings, struct ipcmark_error *error) {
    int code = 0;
    if (ipcmark_option_value(settings, "send-queue"))
        code = nng_socket_set_int(self->outgoing, NNG_OPT_SENDBUF, ipcmark_number(settings, "send-queue", 0));
    if (code == 0 && ipcmark_option_value(settings, "receive-queue"))
        code = nng_socket_set_int(self->incoming, NNG_OPT_RECVBUF, ipcmark_number(settings, "receive-queue", 0));
    return code ? nng_fail(error, "set an option of", "an NNG socket", code) : IPCMARK_DONE;
}

static int set_type(struct end *self, const struct kind *kind, const struct ipcmark_settings *settings,
                    struct ipcmark_error *error) {
    if (nng_publishes(kind))
        return set_publication(self, settings, error);
    if (kind->requests)
        return settings->role == IPCMARK_LEADER ? set_request(self, error) : IPCMARK_DONE;
    return set_queues(self, settings, error);
}

static bool is_nagle_off(const struct ipcmark_settings *settings) {
    const char *word = ipcmark_option_value(settings, "no-delay");
    return !word || strcmp(word, "on") == 0;
}

/* Notes the size of each queue that the socket has. */
static void note_all(const struct end *self, const struct kind *kind, const struct ipcmark_settings *settings,
                     struct ipcmark_session *session) {
    session->note(session, "TCP_NODELAY", !kind->tcp ? "-" : is_nagle_off(settings) ? "on" : "off");
    int sent = 0, received = 0;
    const bool has_sent = nng_socket_get_int(self->outgoing, NNG_OPT_SENDBUF, &sent) == 0;
    const bool has_received = nng_socket_get_int(self->incoming, NNG_OPT_RECVBUF, &received) == 0;
    if (kind->requests || !(has_sent || has_received))
        return;
    char text[64];
    snprintf(text, sizeof text, "%d messages sent, %d received", sent, received);
    session->note(session, "queues", text);
}

/* Connections --------------------------------------------------------------------------------- */

/* Listens at the socket's own address, and writes it to `address`; for port 0 the system chooses a port. */
static int listen_socket(nng_socket socket, const struct kind *kind, const char *suffix,
                         const struct ipcmark_settings *settings, char address[IPCMARK_ADDRESS_BYTES],
                         struct ipcmark_error *error) {
    /* NNG releases a name some time after it closed the socket, so each opening uses a new one. */
    static unsigned opened;
    ipcmark_tcp_url(address, IPCMARK_ADDRESS_BYTES, settings, "0");
    if (!kind->tcp)
        snprintf(address, IPCMARK_ADDRESS_BYTES, "abstract://%s-%u%s", settings->name, opened++, suffix);
    nng_listener listener;
    int code = nng_listener_create(&listener, socket, address);
    if (code == 0 && kind->tcp)
        code = nng_listener_set_bool(listener, NNG_OPT_TCP_NODELAY, is_nagle_off(settings));
    if (code == 0)
        code = nng_listener_start(listener, 0);
    if (code)
        return nng_fail(error, "listen at", address, code);
    char *url;
    code = nng_listener_get_string(listener, NNG_OPT_URL, &url);
    if (code)
        return nng_fail(error, "ask for the address of", "an NNG listener", code);
    snprintf(address, IPCMARK_ADDRESS_BYTES, "%s", url);
    nng_strfree(url);
    return IPCMARK_DONE;
}

static int listen_end(struct end *self, const struct kind *kind, const struct ipcmark_settings *settings,
                      struct ipcmark_session *session, struct ipcmark_error *error) {
    struct ipcmark_addresses bound = {"", ""};
    int result = listen_socket(self->outgoing, kind, "", settings, bound.there, error);
    if (result == IPCMARK_DONE && nng_publishes(kind))
        result = listen_socket(self->incoming, kind, "-back", settings, bound.back, error);
    return result == IPCMARK_DONE ? ipcmark_send_addresses(session, &bound, error) : result;
}

/* Dials in the background, because NNG itself would wait as long as the system does, for minutes. */
static int dial_socket(struct end *self, nng_socket socket, const struct kind *kind, const char *address,
                       const struct ipcmark_settings *settings, struct ipcmark_error *error) {
    nng_dialer dialer;
    const int result = count_connections(self, socket, error);
    if (result != IPCMARK_DONE)
        return result;
    int code = nng_dialer_create(&dialer, socket, address);
    if (code == 0 && kind->tcp)
        code = nng_dialer_set_bool(dialer, NNG_OPT_TCP_NODELAY, is_nagle_off(settings));
    if (code == 0)
        code = nng_dialer_start(dialer, NNG_FLAG_NONBLOCK);
    if (code)
        return nng_fail(error, "connect to", address, code);
    if (await_connections(self, settings, 1) > 0)
        return IPCMARK_DONE;
    char cause[64];
    snprintf(cause, sizeof cause, "it does not answer within %g s", (double)settings->connect_ns / 1e9);
    return ipcmark_fail(error, "connect to", address, cause, settings->address ? "see if a firewall is between" : NULL);
}

static int dial_end(struct end *self, const struct kind *kind, const struct ipcmark_settings *settings,
                    struct ipcmark_session *session, struct ipcmark_error *error) {
    struct ipcmark_addresses bound;
    int result = ipcmark_receive_addresses(session, &bound, "an NNG socket", error);
    if (result != IPCMARK_DONE)
        return result;
    result = dial_socket(self, self->incoming, kind, bound.there, settings, error);
    if (result == IPCMARK_DONE && nng_publishes(kind))
        result = dial_socket(self, self->outgoing, kind, bound.back, settings, error);
    return result;
}

/* A message published before a follower is connected would not reach it. */
static int await_followers(struct end *self, const struct ipcmark_settings *settings, struct ipcmark_error *error) {
    const uint32_t followers = settings->subscribers;
    const unsigned connected = await_connections(self, settings, followers);
    if (connected >= followers)
        return IPCMARK_DONE;
    char cause[96];
    snprintf(cause, sizeof cause, "%u of %u followers are connected within %g s", connected, followers,
             (double)settings->connect_ns / 1e9);
    return ipcmark_fail(error, "open", "an NNG publisher", cause, NULL);
}

int nng_set_up(struct end *self, const struct kind *kind, const struct ipcmark_settings *settings,
               struct ipcmark_session *session, struct ipcmark_error *error) {
    const bool leads = settings->role == IPCMARK_LEADER;
    int result = make_sockets(self, kind, settings, error);
    if (result == IPCMARK_DONE)
        result = set_type(self, kind, settings, error);
    if (result != IPCMARK_DONE)
        return result;
    note_all(self, kind, settings, session);
    result = leads ? listen_end(self, kind, settings, session, error) : dial_end(self, kind, settings, session, error);
    if (result == IPCMARK_DONE)
        result = session->meet(session, error);
    if (result == IPCMARK_DONE && leads && nng_publishes(kind))
        result = await_followers(self, settings, error);
    return result;
}
