/* nng-ipc, nng-tcp, nng-req-ipc, nng-req-tcp: NNG sockets between two processes.
 *
 * - Mechanism: NNG's own threads move messages between a socket's queues and a stream socket (Unix domain or TCP).
 * - Kernel objects: a stream connection, NNG's threads with their condition variables; for ipc an abstract name, which
 *   is no file and ends with the socket.
 * - Copies a message: two, into and out of the kernel; one more into NNG's own memory when it is sent.
 * - Blocks: in nng_send and nng_recvmsg, 100 ms at most.
 * - Limits: REQ and REP take turns. NNG allocates memory for every message. A receive on REQ that ends without the
 *   answer takes the request back, so `block` sleeps without a limit there, and `spin` polls the socket's descriptor
 *   first.
 */
#include "shared/c/address.h"
#include "shared/c/options.h"

#include <ipcmark/transport.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>

#include <nng/nng.h>
#include <nng/protocol/pair0/pair.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>

enum {
    LONGEST_SLEEP_MS = 100,
    NEVER_MS = 3600 * 1000,
    HEAD_BYTES = 64 /* An upper bound of a protocol's head, which counts as part of the message. */
};

/* Options ------------------------------------------------------------------------------------- */

#define SEND_QUEUE {"send-queue", "0..8192", "NNG's own", "messages on their way out that the socket holds"}
#define RECEIVE_QUEUE {"receive-queue", "0..8192", "NNG's own", "messages come in that the socket holds"}
#define NO_DELAY {"no-delay", "on|off", "on", "without Nagle's delay (TCP_NODELAY)"}

/* REQ and REP have no queues to set, for one message is under way. */
static const struct ipcmark_option_spec pair_ipc_options[] = {SEND_QUEUE, RECEIVE_QUEUE};
static const struct ipcmark_option_spec pair_tcp_options[] = {SEND_QUEUE, RECEIVE_QUEUE, NO_DELAY};
static const struct ipcmark_option_spec req_tcp_options[] = {NO_DELAY};

/* State --------------------------------------------------------------------------------------- */

/* The context of a transport: what differs between them. */
struct kind {
    int (*leader)(nng_socket *);
    int (*follower)(nng_socket *);
    bool tcp;
    bool requests; /* REQ and REP */
};

struct end {
    nng_socket socket;
    int flags;         /* NNG_FLAG_NONBLOCK where it spins */
    int send_flags;    /* The same, but 0 for REP: a reply that is not accepted at once is lost */
    int answered;      /* A descriptor that is readable once the answer is there: of a REQ that spins; else -1 */
    nng_msg *incoming; /* The message taken, or NULL */
};

static int fail(struct ipcmark_error *error, const char *operation, const char *object, int code) {
    return ipcmark_fail(error, operation, object, nng_strerror(code), NULL);
}

/* Set-up and teardown ------------------------------------------------------------------------- */

static void close_end(void *end) {
    struct end *self = end;
    nng_msg_free(self->incoming);
    nng_close(self->socket);
    free(self);
}

/* Limits sleeps, allows messages as large as the payload, and keeps REQ from sending a request a second time, which
 * would arrive twice. */
static int configure(struct end *self, const struct kind *kind, const struct ipcmark_settings *settings,
                     struct ipcmark_error *error) {
    bool requests = kind->requests && settings->role == IPCMARK_LEADER;
    bool replies = kind->requests && !requests;
    int send_ms = replies ? NNG_DURATION_INFINITE : LONGEST_SLEEP_MS;
    int receive_ms = requests ? NNG_DURATION_INFINITE : LONGEST_SLEEP_MS;
    int code = nng_socket_set_ms(self->socket, NNG_OPT_SENDTIMEO, send_ms);
    if (code == 0)
        code = nng_socket_set_ms(self->socket, NNG_OPT_RECVTIMEO, receive_ms);
    if (code == 0)
        code = nng_socket_set_size(self->socket, NNG_OPT_RECVMAXSZ, settings->payload + HEAD_BYTES);
    if (code == 0 && requests)
        code = nng_socket_set_ms(self->socket, NNG_OPT_REQ_RESENDTIME, NEVER_MS);
    if (code == 0 && requests && self->flags == NNG_FLAG_NONBLOCK)
        code = nng_socket_get_int(self->socket, NNG_OPT_RECVFD, &self->answered);
    if (code == 0 && ipcmark_option_value(settings, "send-queue"))
        code = nng_socket_set_int(self->socket, NNG_OPT_SENDBUF, ipcmark_number(settings, "send-queue", 0));
    if (code == 0 && ipcmark_option_value(settings, "receive-queue"))
        code = nng_socket_set_int(self->socket, NNG_OPT_RECVBUF, ipcmark_number(settings, "receive-queue", 0));
    return code ? fail(error, "set an option of", "an NNG socket", code) : IPCMARK_DONE;
}

static bool is_nagle_off(const struct ipcmark_settings *settings) {
    const char *word = ipcmark_option_value(settings, "no-delay");
    return !word || strcmp(word, "on") == 0;
}

static void note_queues(struct end *self, const struct kind *kind, struct ipcmark_session *session) {
    int sent = 0, received = 0;
    if (kind->requests || nng_socket_get_int(self->socket, NNG_OPT_SENDBUF, &sent) != 0 ||
        nng_socket_get_int(self->socket, NNG_OPT_RECVBUF, &received) != 0)
        return;
    char text[64];
    snprintf(text, sizeof text, "%d messages sent, %d received", sent, received);
    session->note(session, "queues", text);
}

/* The leader listens and tells the follower the address; for port 0 the system chooses a port. */
static int listen_end(struct end *self, const struct kind *kind, const struct ipcmark_settings *settings,
                      struct ipcmark_session *session, struct ipcmark_error *error) {
    /* NNG releases a name some time after it closed the socket, so each opening has another. */
    static unsigned opened;
    char address[160];
    ipcmark_tcp_url(address, sizeof address, settings, "0");
    if (!kind->tcp)
        snprintf(address, sizeof address, "abstract://%s-%u", settings->name, opened++);
    nng_listener listener;
    int code = nng_listener_create(&listener, self->socket, address);
    if (code == 0 && kind->tcp)
        code = nng_listener_set_bool(listener, NNG_OPT_TCP_NODELAY, is_nagle_off(settings));
    if (code == 0)
        code = nng_listener_start(listener, 0);
    if (code)
        return fail(error, "listen at", address, code);
    char *url;
    code = nng_listener_get_string(listener, NNG_OPT_URL, &url);
    if (code)
        return fail(error, "ask for the address of", "an NNG listener", code);
    int result = session->send(session, 0, url, strlen(url), NULL, 0, error);
    nng_strfree(url);
    return result;
}

static int dial_end(struct end *self, const struct kind *kind, const struct ipcmark_settings *settings,
                    struct ipcmark_session *session, struct ipcmark_error *error) {
    char address[160];
    size_t len = sizeof address - 1, none = 0;
    int result = session->receive(session, 0, address, &len, NULL, &none, error);
    if (result != IPCMARK_DONE)
        return result;
    address[len] = '\0';
    nng_dialer dialer;
    int code = nng_dialer_create(&dialer, self->socket, address);
    if (code == 0 && kind->tcp)
        code = nng_dialer_set_bool(dialer, NNG_OPT_TCP_NODELAY, is_nagle_off(settings));
    if (code == 0)
        code = nng_dialer_start(dialer, 0);
    return code ? fail(error, "connect to", address, code) : IPCMARK_DONE;
}

static int open_socket(struct end *self, const struct kind *kind, const struct ipcmark_settings *settings,
                       struct ipcmark_session *session, struct ipcmark_error *error) {
    int result = configure(self, kind, settings, error);
    if (result != IPCMARK_DONE)
        return result;
    session->note(session, "TCP_NODELAY", !kind->tcp ? "-" : is_nagle_off(settings) ? "on" : "off");
    note_queues(self, kind, session);
    result = settings->role == IPCMARK_LEADER ? listen_end(self, kind, settings, session, error)
                                              : dial_end(self, kind, settings, session, error);
    return result == IPCMARK_DONE ? session->meet(session, error) : result;
}

static int open_end(const struct ipcmark_transport *transport, const struct ipcmark_settings *settings,
                    struct ipcmark_session *session, void **end, struct ipcmark_error *error) {
    const struct kind *kind = transport->context;
    struct end *self = calloc(1, sizeof *self);
    if (!self)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", NULL);
    self->flags = settings->wait == IPCMARK_SPIN ? NNG_FLAG_NONBLOCK : 0;
    self->send_flags = kind->requests && settings->role == IPCMARK_FOLLOWER ? 0 : self->flags;
    self->answered = -1;
    bool leads = settings->role == IPCMARK_LEADER;
    int code = (leads ? kind->leader : kind->follower)(&self->socket);
    if (code) {
        free(self);
        return fail(error, "make", "an NNG socket", code);
    }
    int result = open_socket(self, kind, settings, session, error);
    if (result == IPCMARK_DONE)
        *end = self;
    else
        close_end(self);
    return result;
}

/* The hot path -------------------------------------------------------------------------------- */

static int not_now(struct ipcmark_error *error, const char *operation, int code) {
    if (code == NNG_EAGAIN || code == NNG_ETIMEDOUT || code == NNG_EINTR)
        return IPCMARK_WOULD_BLOCK;
    return fail(error, operation, "an NNG message", code);
}

static int publish(void *end, void *message, size_t len, struct ipcmark_error *error) {
    struct end *self = end;
    int code = nng_send(self->socket, message, len, self->send_flags);
    return code ? not_now(error, "send", code) : IPCMARK_DONE;
}

static int take(void *end, const void **message, size_t *len, struct ipcmark_error *error) {
    struct end *self = end;
    struct pollfd answer = {.fd = self->answered, .events = POLLIN};
    if (self->answered >= 0 && poll(&answer, 1, 0) <= 0)
        return IPCMARK_WOULD_BLOCK;
    int code = nng_recvmsg(self->socket, &self->incoming, self->answered < 0 ? self->flags : 0);
    if (code)
        return not_now(error, "receive", code);
    *message = nng_msg_body(self->incoming);
    *len = nng_msg_len(self->incoming);
    return IPCMARK_DONE;
}

static int release(void *end, const void *message, struct ipcmark_error *error) {
    struct end *self = end;
    (void)message;
    (void)error;
    nng_msg_free(self->incoming);
    self->incoming = NULL;
    return IPCMARK_DONE;
}

/* The definition ------------------------------------------------------------------------------ */

static const struct kind pair_ipc = {nng_pair0_open, nng_pair0_open, false, false};
static const struct kind pair_tcp = {nng_pair0_open, nng_pair0_open, true, false};
static const struct kind req_ipc = {nng_req0_open, nng_rep0_open, false, true};
static const struct kind req_tcp = {nng_req0_open, nng_rep0_open, true, true};

#define TRANSPORT(NAME, SUMMARY, KIND, FLAGS, OPTIONS, COUNT) \
    {.size = sizeof(struct ipcmark_transport),                \
     .flags = (FLAGS),                                        \
     .name = (NAME),                                          \
     .summary = (SUMMARY),                                    \
     .max_payload = 4 << 20,                                  \
     .waits = IPCMARK_SPIN | IPCMARK_BLOCK,                   \
     .patterns = IPCMARK_LATENCY,                             \
     .max_subscribers = 1,                                    \
     .context = &(KIND),                                      \
     .open = open_end,                                        \
     .publish = publish,                                      \
     .take = take,                                            \
     .release = release,                                      \
     .close = close_end,                                      \
     .options = (OPTIONS),                                    \
     .option_count = (COUNT)}

static const struct ipcmark_transport nng_ipc =
    TRANSPORT("nng-ipc", "PAIR sockets over a Unix domain socket, two copies and I/O threads each side", pair_ipc, 0,
              pair_ipc_options, 2);
static const struct ipcmark_transport nng_tcp =
    TRANSPORT("nng-tcp", "PAIR sockets over TCP, two copies and I/O threads each side", pair_tcp,
              IPCMARK_CROSSES_HOSTS | IPCMARK_ON_NETWORK, pair_tcp_options, 3);
static const struct ipcmark_transport nng_req_ipc =
    TRANSPORT("nng-req-ipc", "REQ and REP sockets over a Unix domain socket, two copies and I/O threads each side",
              req_ipc, IPCMARK_ALTERNATING, NULL, 0);
static const struct ipcmark_transport nng_req_tcp =
    TRANSPORT("nng-req-tcp", "REQ and REP sockets over TCP, two copies and I/O threads each side", req_tcp,
              IPCMARK_ALTERNATING | IPCMARK_CROSSES_HOSTS | IPCMARK_ON_NETWORK, req_tcp_options, 1);

static const struct ipcmark_transport *const transports[] = {&nng_ipc, &nng_tcp, &nng_req_ipc, &nng_req_tcp};

const struct ipcmark_module *ipcmark_module(void) {
    static const struct ipcmark_module module = {
        .size = sizeof module,
        .abi_version = IPCMARK_ABI_VERSION,
        .family = "nng",
        .library_version = nng_version,
        .transports = transports,
        .transport_count = 4,
    };
    return &module;
}
