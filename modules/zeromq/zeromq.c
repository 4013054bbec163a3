/* zeromq-ipc, zeromq-tcp, zeromq-pair-ipc, zeromq-pair-tcp, zeromq-pubsub-ipc, zeromq-pubsub-tcp: ZeroMQ sockets
 * between processes.
 *
 * - Mechanism: each process has a socket and a context with one I/O thread, which moves messages between the socket's
 *   queues and a stream socket (Unix domain or TCP).
 * - Kernel objects: a stream connection, an eventfd for each queue; for ipc an abstract name, which is no file and ends
 *   with the socket.
 * - Copies a message: three, into ZeroMQ's own memory, into the kernel and out of it.
 * - Blocks: in zmq_send and zmq_msg_recv, 100 ms at most.
 * - Limits: REQ and REP take turns. Other queues hold up to 64 MiB of messages, at most 1,000.
 * - Fan-out: an XPUB socket publishes to the SUB sockets of all followers in one call, and waits while the queue of
 *   one of them is full. Each follower answers by PUSH; the leader takes the answers of all from one PULL socket.
 */
#include "zeromq.h"

#include "shared/c/options.h"

#include <errno.h>
#include <stdlib.h>

/* Options ------------------------------------------------------------------------------------- */

#define SEND_BUFFER \
    {"send-buffer", "4k..64M", "what the kernel chooses", "bytes on their way out that a connection holds"}
#define RECEIVE_BUFFER \
    {"receive-buffer", "64k..64M", "what the kernel chooses", "bytes come in that a connection holds"}
#define IO_THREADS {"io-threads", "1..8", "1", "threads of a context that move messages"}
#define MARK(key, what) \
    {key, "1..1000000", "what 64 MiB hold, at most 1000", "messages that the queue of those " what " holds"}

/* REQ and REP have no mark options: see standard_mark in setup.c. */
static const struct ipcmark_option_spec req_options[] = {SEND_BUFFER, RECEIVE_BUFFER, IO_THREADS};
static const struct ipcmark_option_spec queue_options[] = {
    SEND_BUFFER,
    RECEIVE_BUFFER,
    IO_THREADS,
    MARK("send-high-water-mark", "sent"),
    MARK("receive-high-water-mark", "received"),
};

/* Set-up -------------------------------------------------------------------------------------- */

static int open_end(const struct ipcmark_transport *transport, const struct ipcmark_settings *settings,
                    struct ipcmark_session *session, void **end, struct ipcmark_error *error) {
    struct end *self = calloc(1, sizeof *self);
    if (!self)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", NULL);
    zmq_msg_init(&self->message);
    self->flags = settings->wait == IPCMARK_SPIN ? ZMQ_DONTWAIT : 0;
    self->context = zmq_ctx_new();
    if (self->context)
        zmq_ctx_set(self->context, ZMQ_IO_THREADS, ipcmark_number(settings, "io-threads", 1));
    int result = self->context ? zeromq_set_up(self, transport->context, settings, session, error)
                               : zeromq_fail(error, "make", "a ZeroMQ context");
    if (result == IPCMARK_DONE)
        *end = self;
    else
        zeromq_close(self);
    return result;
}

/* The hot path -------------------------------------------------------------------------------- */

/* EAGAIN: the queue is full or empty, or a sleep reached its limit. EINTR: a signal. */
static int not_now(struct ipcmark_error *error, const char *operation) {
    if (zmq_errno() == EAGAIN || zmq_errno() == EINTR)
        return IPCMARK_WOULD_BLOCK;
    return zeromq_fail(error, operation, "a ZeroMQ message");
}

static int publish(void *end, void *message, size_t len, struct ipcmark_error *error) {
    struct end *self = end;
    if (zmq_send(self->outgoing, message, len, self->flags) < 0)
        return not_now(error, "send");
    return IPCMARK_DONE;
}

/* Receiving into a message releases the previous one. */
static int take(void *end, const void **message, size_t *len, struct ipcmark_error *error) {
    struct end *self = end;
    if (zmq_msg_recv(&self->message, self->incoming, self->flags) < 0)
        return not_now(error, "receive");
    *message = zmq_msg_data(&self->message);
    *len = zmq_msg_size(&self->message);
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

#define REQ_REP {ZMQ_REQ, ZMQ_REP}
#define PAIR {ZMQ_PAIR, ZMQ_PAIR}
#define PUB_SUB {ZMQ_XPUB, ZMQ_SUB}
#define PULL_PUSH {ZMQ_PULL, ZMQ_PUSH}

static const struct kind req_ipc = {REQ_REP, REQ_REP, false};
static const struct kind req_tcp = {REQ_REP, REQ_REP, true};
static const struct kind pair_ipc = {PAIR, PAIR, false};
static const struct kind pair_tcp = {PAIR, PAIR, true};
static const struct kind pubsub_ipc = {PUB_SUB, PULL_PUSH, false};
static const struct kind pubsub_tcp = {PUB_SUB, PULL_PUSH, true};

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define MOST_FOLLOWERS 64
#define TRANSPORT(NAME, SUMMARY, KIND, FLAGS, OPTIONS, PATTERNS, FOLLOWERS) \
    {.size = sizeof(struct ipcmark_transport),                              \
     .flags = (FLAGS),                                                      \
     .name = (NAME),                                                        \
     .summary = (SUMMARY),                                                  \
     .max_payload = 4 << 20,                                                \
     .waits = IPCMARK_SPIN | IPCMARK_BLOCK,                                 \
     .patterns = (PATTERNS),                                                \
     .max_subscribers = (FOLLOWERS),                                        \
     .context = &(KIND),                                                    \
     .open = open_end,                                                      \
     .publish = publish,                                                    \
     .take = take,                                                          \
     .close = zeromq_close,                                                 \
     .options = (OPTIONS),                                                  \
     .option_count = COUNT(OPTIONS)}

static const struct ipcmark_transport zeromq_ipc =
    TRANSPORT("zeromq-ipc", "REQ and REP sockets over a Unix domain socket, three copies and an I/O thread each side",
              req_ipc, IPCMARK_ALTERNATING, req_options, IPCMARK_LATENCY, 1);
static const struct ipcmark_transport zeromq_tcp =
    TRANSPORT("zeromq-tcp", "REQ and REP sockets over TCP, three copies and an I/O thread each side", req_tcp,
              IPCMARK_ALTERNATING | IPCMARK_CROSSES_HOSTS | IPCMARK_ON_NETWORK, req_options, IPCMARK_LATENCY, 1);
static const struct ipcmark_transport zeromq_pair_ipc =
    TRANSPORT("zeromq-pair-ipc", "PAIR sockets over a Unix domain socket, three copies and an I/O thread each side",
              pair_ipc, 0, queue_options, IPCMARK_LATENCY, 1);
static const struct ipcmark_transport zeromq_pair_tcp =
    TRANSPORT("zeromq-pair-tcp", "PAIR sockets over TCP, three copies and an I/O thread each side", pair_tcp,
              IPCMARK_CROSSES_HOSTS | IPCMARK_ON_NETWORK, queue_options, IPCMARK_LATENCY, 1);

static const struct ipcmark_transport zeromq_pubsub_ipc = TRANSPORT(
    "zeromq-pubsub-ipc", "XPUB and SUB sockets over Unix domain sockets, answers by PUSH and PULL, three copies",
    pubsub_ipc, 0, queue_options, IPCMARK_LATENCY | IPCMARK_FAN_OUT, MOST_FOLLOWERS);
static const struct ipcmark_transport zeromq_pubsub_tcp = TRANSPORT(
    "zeromq-pubsub-tcp", "XPUB and SUB sockets over TCP, answers by PUSH and PULL, three copies", pubsub_tcp,
    IPCMARK_CROSSES_HOSTS | IPCMARK_ON_NETWORK, queue_options, IPCMARK_LATENCY | IPCMARK_FAN_OUT, MOST_FOLLOWERS);

static const struct ipcmark_transport *const transports[] = {&zeromq_ipc,      &zeromq_tcp,        &zeromq_pair_ipc,
                                                             &zeromq_pair_tcp, &zeromq_pubsub_ipc, &zeromq_pubsub_tcp};

const struct ipcmark_module *ipcmark_module(void) {
    static const struct ipcmark_module module = {
        .size = sizeof module,
        .abi_version = IPCMARK_ABI_VERSION,
        .family = "zeromq",
        .library_version = library_version,
        .transports = transports,
        .transport_count = COUNT(transports),
    };
    return &module;
}
