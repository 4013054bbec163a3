/* zeromq-ipc, zeromq-tcp, zeromq-pair-ipc, zeromq-pair-tcp: ZeroMQ sockets between two processes.
 *
 * - Mechanism: each process has a socket and a context with one I/O thread, which moves messages between the socket's
 *   queues and a stream socket (Unix domain or TCP).
 * - Kernel objects: a stream connection, an eventfd for each queue; for ipc an abstract name, which is no file and ends
 *   with the socket.
 * - Copies a message: three, into ZeroMQ's own memory, into the kernel and out of it.
 * - Blocks: in zmq_send and zmq_msg_recv, 100 ms at most.
 * - Limits: REQ and REP take turns. A queue of PAIR holds up to 64 MiB of messages, at most 1,000.
 */
#include "shared/c/address.h"
#include "shared/c/options.h"

#include <ipcmark/transport.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

enum {
    QUEUE_BYTES = 64 << 20, /* The bytes that a queue may hold. */
    MOST_MESSAGES = 1000,   /* ZeroMQ's own default. */
    LONGEST_SLEEP_MS = 100
};

/* Options ------------------------------------------------------------------------------------- */

#define SEND_BUFFER \
    {"send-buffer", "4k..64M", "what the kernel chooses", "bytes on their way out that a connection holds"}
#define RECEIVE_BUFFER \
    {"receive-buffer", "64k..64M", "what the kernel chooses", "bytes come in that a connection holds"}
#define IO_THREADS {"io-threads", "1..8", "1", "threads of a context that move messages"}
#define MARK(key, what) \
    {key, "1..1000000", "what 64 MiB hold, at most 1000", "messages that the queue of those " what " holds"}

/* REQ and REP have no marks to set: see configure. */
static const struct ipcmark_option_spec req_options[] = {SEND_BUFFER, RECEIVE_BUFFER, IO_THREADS};
static const struct ipcmark_option_spec pair_options[] = {
    SEND_BUFFER,
    RECEIVE_BUFFER,
    IO_THREADS,
    MARK("send-high-water-mark", "sent"),
    MARK("receive-high-water-mark", "received"),
};

/* State --------------------------------------------------------------------------------------- */

/* The context of a transport: what differs between them. */
struct kind {
    int leader, follower; /* Types of socket */
    bool tcp;
};

struct end {
    void *context;
    void *socket;
    int flags; /* ZMQ_DONTWAIT where it spins */
    zmq_msg_t incoming;
};

static int fail(struct ipcmark_error *error, const char *operation, const char *object) {
    return ipcmark_fail(error, operation, object, zmq_strerror(zmq_errno()), NULL);
}

/* Set-up and teardown ------------------------------------------------------------------------- */

static void close_end(void *end) {
    struct end *self = end;
    zmq_msg_close(&self->incoming);
    if (self->socket)
        zmq_close(self->socket);
    /* Linger is 0: unsent messages are dropped, and this does not wait for a peer that is gone. */
    if (self->context)
        zmq_ctx_term(self->context);
    free(self);
}

static int set(struct end *self, int option, int value, struct ipcmark_error *error) {
    if (zmq_setsockopt(self->socket, option, &value, sizeof value) != 0)
        return fail(error, "set an option of", "a ZeroMQ socket");
    return IPCMARK_DONE;
}

/* The high-water mark of PAIR bounds the memory of a queue. REQ and REP have one message under way and keep ZeroMQ's
 * default: a REP whose queue looks full drops its reply, and the queue learns what the peer has read only every few
 * milliseconds, so a low mark loses replies. No linger, so that close does not wait; limited sleeps, so that an end can
 * be asked to stop. */
static int configure(struct end *self, const struct kind *kind, const struct ipcmark_settings *settings,
                     struct ipcmark_session *session, struct ipcmark_error *error) {
    uint64_t fit = QUEUE_BYTES / settings->payload;
    int mark = kind->leader == ZMQ_PAIR && fit < MOST_MESSAGES ? (int)fit : MOST_MESSAGES;
    int sending = ipcmark_number(settings, "send-high-water-mark", mark);
    int receiving = ipcmark_number(settings, "receive-high-water-mark", mark);
    int options[][2] = {{ZMQ_SNDHWM, sending},
                        {ZMQ_RCVHWM, receiving},
                        {ZMQ_SNDBUF, ipcmark_number(settings, "send-buffer", -1)},
                        {ZMQ_RCVBUF, ipcmark_number(settings, "receive-buffer", -1)},
                        {ZMQ_LINGER, 0},
                        {ZMQ_SNDTIMEO, LONGEST_SLEEP_MS},
                        {ZMQ_RCVTIMEO, LONGEST_SLEEP_MS}};
    for (size_t n = 0; n < sizeof options / sizeof *options; n++) {
        int result = set(self, options[n][0], options[n][1], error);
        if (result != IPCMARK_DONE)
            return result;
    }
    char text[48];
    snprintf(text, sizeof text, "%d messages sent, %d received", sending, receiving);
    session->note(session, "high-water marks", text);
    snprintf(text, sizeof text, "%d", zmq_ctx_get(self->context, ZMQ_IO_THREADS));
    session->note(session, "I/O threads", text);
    return IPCMARK_DONE;
}

/* The leader binds and tells the follower the address; for TCP the system chooses a port. */
static int bind_end(struct end *self, const struct kind *kind, const struct ipcmark_settings *settings,
                    struct ipcmark_session *session, struct ipcmark_error *error) {
    char address[160];
    if (!kind->tcp)
        snprintf(address, sizeof address, "ipc://@%s", settings->name);
    else
        ipcmark_tcp_url(address, sizeof address, settings, "*");
    if (zmq_bind(self->socket, address) != 0)
        return fail(error, "bind a ZeroMQ socket to", address);
    size_t len = sizeof address;
    if (zmq_getsockopt(self->socket, ZMQ_LAST_ENDPOINT, address, &len) != 0)
        return fail(error, "ask for the address of", "a ZeroMQ socket");
    return session->send(session, 0, address, strlen(address), NULL, 0, error);
}

static int connect_end(struct end *self, struct ipcmark_session *session, struct ipcmark_error *error) {
    char address[160];
    size_t len = sizeof address - 1, none = 0;
    int result = session->receive(session, 0, address, &len, NULL, &none, error);
    if (result != IPCMARK_DONE)
        return result;
    address[len] = '\0';
    if (zmq_connect(self->socket, address) != 0)
        return fail(error, "connect a ZeroMQ socket to", address);
    return IPCMARK_DONE;
}

static int open_socket(struct end *self, const struct kind *kind, const struct ipcmark_settings *settings,
                       struct ipcmark_session *session, struct ipcmark_error *error) {
    bool leads = settings->role == IPCMARK_LEADER;
    self->socket = zmq_socket(self->context, leads ? kind->leader : kind->follower);
    if (!self->socket)
        return fail(error, "make", "a ZeroMQ socket");
    int result = set(self, ZMQ_IPV6, settings->address && strchr(settings->address, ':'), error);
    if (result == IPCMARK_DONE)
        result = configure(self, kind, settings, session, error);
    if (result == IPCMARK_DONE)
        result = leads ? bind_end(self, kind, settings, session, error) : connect_end(self, session, error);
    return result == IPCMARK_DONE ? session->meet(session, error) : result;
}

static int open_end(const struct ipcmark_transport *transport, const struct ipcmark_settings *settings,
                    struct ipcmark_session *session, void **end, struct ipcmark_error *error) {
    struct end *self = calloc(1, sizeof *self);
    if (!self)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", NULL);
    zmq_msg_init(&self->incoming);
    self->flags = settings->wait == IPCMARK_SPIN ? ZMQ_DONTWAIT : 0;
    self->context = zmq_ctx_new();
    if (self->context)
        zmq_ctx_set(self->context, ZMQ_IO_THREADS, ipcmark_number(settings, "io-threads", 1));
    int result = self->context ? open_socket(self, transport->context, settings, session, error)
                               : fail(error, "make", "a ZeroMQ context");
    if (result == IPCMARK_DONE)
        *end = self;
    else
        close_end(self);
    return result;
}

/* The hot path -------------------------------------------------------------------------------- */

/* EAGAIN: the queue is full or empty, or a sleep reached its limit. EINTR: a signal. */
static int not_now(struct ipcmark_error *error, const char *operation) {
    if (zmq_errno() == EAGAIN || zmq_errno() == EINTR)
        return IPCMARK_WOULD_BLOCK;
    return fail(error, operation, "a ZeroMQ message");
}

static int publish(void *end, void *message, size_t len, struct ipcmark_error *error) {
    struct end *self = end;
    if (zmq_send(self->socket, message, len, self->flags) < 0)
        return not_now(error, "send");
    return IPCMARK_DONE;
}

/* Receiving into a message releases the one before. */
static int take(void *end, const void **message, size_t *len, struct ipcmark_error *error) {
    struct end *self = end;
    if (zmq_msg_recv(&self->incoming, self->socket, self->flags) < 0)
        return not_now(error, "receive");
    *message = zmq_msg_data(&self->incoming);
    *len = zmq_msg_size(&self->incoming);
    return IPCMARK_DONE;
}

/* The definition ------------------------------------------------------------------------------ */

static const char *library_version(void) {
    static char text[32];
    int major, minor, patch;
    zmq_version(&major, &minor, &patch);
    snprintf(text, sizeof text, "%d.%d.%d", major, minor, patch);
    return text;
}

static const struct kind req_ipc = {ZMQ_REQ, ZMQ_REP, false};
static const struct kind req_tcp = {ZMQ_REQ, ZMQ_REP, true};
static const struct kind pair_ipc = {ZMQ_PAIR, ZMQ_PAIR, false};
static const struct kind pair_tcp = {ZMQ_PAIR, ZMQ_PAIR, true};

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define TRANSPORT(NAME, SUMMARY, KIND, FLAGS, OPTIONS) \
    {.size = sizeof(struct ipcmark_transport),         \
     .flags = (FLAGS),                                 \
     .name = (NAME),                                   \
     .summary = (SUMMARY),                             \
     .max_payload = 4 << 20,                           \
     .waits = IPCMARK_SPIN | IPCMARK_BLOCK,            \
     .patterns = IPCMARK_LATENCY,                      \
     .max_subscribers = 1,                             \
     .context = &(KIND),                               \
     .open = open_end,                                 \
     .publish = publish,                               \
     .take = take,                                     \
     .close = close_end,                               \
     .options = (OPTIONS),                             \
     .option_count = COUNT(OPTIONS)}

static const struct ipcmark_transport zeromq_ipc =
    TRANSPORT("zeromq-ipc", "REQ and REP sockets over a Unix domain socket, two copies and an I/O thread each side",
              req_ipc, IPCMARK_ALTERNATING, req_options);
static const struct ipcmark_transport zeromq_tcp =
    TRANSPORT("zeromq-tcp", "REQ and REP sockets over TCP, two copies and an I/O thread each side", req_tcp,
              IPCMARK_ALTERNATING | IPCMARK_CROSSES_HOSTS | IPCMARK_ON_NETWORK, req_options);
static const struct ipcmark_transport zeromq_pair_ipc =
    TRANSPORT("zeromq-pair-ipc", "PAIR sockets over a Unix domain socket, two copies and an I/O thread each side",
              pair_ipc, 0, pair_options);
static const struct ipcmark_transport zeromq_pair_tcp =
    TRANSPORT("zeromq-pair-tcp", "PAIR sockets over TCP, two copies and an I/O thread each side", pair_tcp,
              IPCMARK_CROSSES_HOSTS | IPCMARK_ON_NETWORK, pair_options);

static const struct ipcmark_transport *const transports[] = {&zeromq_ipc, &zeromq_tcp, &zeromq_pair_ipc,
                                                             &zeromq_pair_tcp};

const struct ipcmark_module *ipcmark_module(void) {
    static const struct ipcmark_module module = {
        .size = sizeof module,
        .abi_version = IPCMARK_ABI_VERSION,
        .family = "zeromq",
        .library_version = library_version,
        .transports = transports,
        .transport_count = 4,
    };
    return &module;
}
