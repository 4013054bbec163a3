/* nng-ipc, nng-tcp, nng-req-ipc, nng-req-tcp, nng-pubsub-ipc, nng-pubsub-tcp: NNG sockets between processes.
 *
 * - Mechanism: NNG's own threads move messages between a socket's queues and a stream socket (Unix domain or TCP).
 * - Kernel objects: a stream connection, NNG's threads with their condition variables; for ipc an abstract name, which
 *   is no file and ends with the socket.
 * - Copies a message: three, into NNG's own memory, into the kernel and out of it.
 * - Blocks: in nng_send and nng_recvmsg, 100 ms at most.
 * - Limits: REQ and REP take turns. NNG allocates memory for every message. A receive on REQ that ends without the
 *   answer takes the request back, so `block` sleeps without a limit there, and `spin` polls the socket's descriptor
 *   first.
 * - Fan-out: a PUB socket publishes to the SUB sockets of all followers in one call. It never waits: a full queue drops
 *   its oldest message. Each follower answers by PUSH; the leader takes the answers of all from one PULL socket. Sleeps
 *   last 10 ms there, because the awaited message may be lost.
 */
#include "endpoint.h"

#include <stdlib.h>
#include <time.h>

#include <poll.h>

#include <nng/protocol/pair0/pair.h>
#include <nng/protocol/pipeline0/pull.h>
#include <nng/protocol/pipeline0/push.h>
#include <nng/protocol/pubsub0/pub.h>
#include <nng/protocol/pubsub0/sub.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>

enum { ANSWERED_WITHIN_MS = 1000 };

/* Options ------------------------------------------------------------------------------------- */

#define SEND_QUEUE {"send-queue", "0..8192", "NNG's own", "messages on their way out that the socket holds"}
#define RECEIVE_QUEUE {"receive-queue", "0..8192", "NNG's own", "messages come in that the socket holds"}
#define NO_DELAY {"no-delay", "on|off", "on", "without Nagle's delay (TCP_NODELAY)"}

#define KEPT(key, whose) {key, "1..8192", "what 64 MiB hold, at most 1000", whose}
#define PUBLISHER_QUEUE KEPT("send-queue", "messages that the publisher holds for each follower")
#define SUBSCRIBER_QUEUE KEPT("receive-queue", "messages come in that a follower holds")

/* REQ and REP have no queue options, because only one message is sent at a time. */
static const struct ipcmark_option_spec pair_ipc_options[] = {SEND_QUEUE, RECEIVE_QUEUE};
static const struct ipcmark_option_spec pair_tcp_options[] = {SEND_QUEUE, RECEIVE_QUEUE, NO_DELAY};
static const struct ipcmark_option_spec req_tcp_options[] = {NO_DELAY};
static const struct ipcmark_option_spec pubsub_ipc_options[] = {PUBLISHER_QUEUE, SUBSCRIBER_QUEUE};
static const struct ipcmark_option_spec pubsub_tcp_options[] = {PUBLISHER_QUEUE, SUBSCRIBER_QUEUE, NO_DELAY};

/* Set-up -------------------------------------------------------------------------------------- */

static int open_end(const struct ipcmark_transport *transport, const struct ipcmark_settings *settings,
                    struct ipcmark_session *session, void **end, struct ipcmark_error *error) {
    const struct kind *kind = transport->context;
    struct end *self = calloc(1, sizeof *self);
    if (!self)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", NULL);
    self->flags = settings->wait == IPCMARK_SPIN ? NNG_FLAG_NONBLOCK : 0;
    self->send_flags = kind->requests && settings->role == IPCMARK_FOLLOWER ? 0 : self->flags;
    self->answered = self->connected = -1;
    self->may_lose_answers = nng_publishes(kind) && settings->role == IPCMARK_FOLLOWER;
    int result = nng_set_up(self, kind, settings, session, error);
    if (result == IPCMARK_DONE)
        *end = self;
    else
        nng_close_end(self);
    return result;
}

/* The hot path -------------------------------------------------------------------------------- */

static int not_now(struct ipcmark_error *error, const char *operation, int code) {
    if (code == NNG_EAGAIN || code == NNG_ETIMEDOUT || code == NNG_EINTR)
        return IPCMARK_WOULD_BLOCK;
    return nng_fail(error, operation, "an NNG message", code);
}

/* True for an answer that has found no room for too long: it is lost. Otherwise an endpoint would wait for a publisher
 * that takes no more answers, and never start the next turn. */
static bool is_lost(struct end *self) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    if (self->refused_since_ms == 0)
        self->refused_since_ms = now_ms;
    return now_ms - self->refused_since_ms > ANSWERED_WITHIN_MS;
}

static int publish(void *end, void *message, size_t len, struct ipcmark_error *error) {
    struct end *self = end;
    int code = nng_send(self->outgoing, message, len, self->send_flags);
    const bool waits = code == NNG_EAGAIN || code == NNG_ETIMEDOUT;
    if (waits && !(self->may_lose_answers && is_lost(self)))
        return IPCMARK_WOULD_BLOCK;
    self->refused_since_ms = 0;
    return code && !waits ? not_now(error, "send", code) : IPCMARK_DONE;
}

static int take(void *end, const void **message, size_t *len, struct ipcmark_error *error) {
    struct end *self = end;
    struct pollfd answer = {.fd = self->answered, .events = POLLIN};
    if (self->answered >= 0 && poll(&answer, 1, 0) <= 0)
        return IPCMARK_WOULD_BLOCK;
    int code = nng_recvmsg(self->incoming, &self->message, self->answered < 0 ? self->flags : 0);
    if (code)
        return not_now(error, "receive", code);
    *message = nng_msg_body(self->message);
    *len = nng_msg_len(self->message);
    return IPCMARK_DONE;
}

static int release(void *end, const void *message, struct ipcmark_error *error) {
    struct end *self = end;
    (void)message;
    (void)error;
    nng_msg_free(self->message);
    self->message = NULL;
    return IPCMARK_DONE;
}

/* The definition ------------------------------------------------------------------------------ */

#define PAIR {nng_pair0_open, nng_pair0_open}
#define REQ_REP {nng_req0_open, nng_rep0_open}
#define PUB_SUB {nng_pub0_open, nng_sub0_open}
#define PULL_PUSH {nng_pull0_open, nng_push0_open}
#define NONE {NULL, NULL}

static const struct kind pair_ipc = {PAIR, NONE, false, false};
static const struct kind pair_tcp = {PAIR, NONE, true, false};
static const struct kind req_ipc = {REQ_REP, NONE, false, true};
static const struct kind req_tcp = {REQ_REP, NONE, true, true};
static const struct kind pubsub_ipc = {PUB_SUB, PULL_PUSH, false, false};
static const struct kind pubsub_tcp = {PUB_SUB, PULL_PUSH, true, false};

#define MOST_FOLLOWERS 64
#define COUNT(list) (sizeof(list) / sizeof *(list))
#define TRANSPORT(NAME, SUMMARY, KIND, FLAGS, PATTERNS, FOLLOWERS, ...) \
    {.size = sizeof(struct ipcmark_transport),                          \
     .flags = (FLAGS),                                                  \
     .name = (NAME),                                                    \
     .summary = (SUMMARY),                                              \
     .max_payload = 4 << 20,                                            \
     .waits = IPCMARK_SPIN | IPCMARK_BLOCK,                             \
     .patterns = (PATTERNS),                                            \
     .max_subscribers = (FOLLOWERS),                                    \
     .context = &(KIND),                                                \
     .open = open_end,                                                  \
     .publish = publish,                                                \
     .take = take,                                                      \
     .release = release,                                                \
     .close = nng_close_end,                                            \
     __VA_ARGS__}
#define OPTIONS(LIST) .options = (LIST), .option_count = COUNT(LIST)

static const struct ipcmark_transport nng_ipc =
    TRANSPORT("nng-ipc", "PAIR sockets over a Unix domain socket, three copies and I/O threads each side", pair_ipc, 0,
              IPCMARK_LATENCY, 1, OPTIONS(pair_ipc_options));
static const struct ipcmark_transport nng_tcp =
    TRANSPORT("nng-tcp", "PAIR sockets over TCP, three copies and I/O threads each side", pair_tcp,
              IPCMARK_CROSSES_HOSTS | IPCMARK_ON_NETWORK, IPCMARK_LATENCY, 1, OPTIONS(pair_tcp_options));
static const struct ipcmark_transport nng_req_ipc =
    TRANSPORT("nng-req-ipc", "REQ and REP sockets over a Unix domain socket, three copies and I/O threads each side",
              req_ipc, IPCMARK_ALTERNATING, IPCMARK_LATENCY, 1, .option_count = 0);
static const struct ipcmark_transport nng_req_tcp = TRANSPORT(
    "nng-req-tcp", "REQ and REP sockets over TCP, three copies and I/O threads each side", req_tcp,
    IPCMARK_ALTERNATING | IPCMARK_CROSSES_HOSTS | IPCMARK_ON_NETWORK, IPCMARK_LATENCY, 1, OPTIONS(req_tcp_options));
static const struct ipcmark_transport nng_pubsub_ipc = TRANSPORT(
    "nng-pubsub-ipc", "PUB and SUB sockets over Unix domain sockets, answers by PUSH and PULL; it may lose", pubsub_ipc,
    IPCMARK_UNRELIABLE, IPCMARK_LATENCY | IPCMARK_FAN_OUT, MOST_FOLLOWERS, OPTIONS(pubsub_ipc_options));
static const struct ipcmark_transport nng_pubsub_tcp =
    TRANSPORT("nng-pubsub-tcp", "PUB and SUB sockets over TCP, answers by PUSH and PULL; it may lose", pubsub_tcp,
              IPCMARK_UNRELIABLE | IPCMARK_CROSSES_HOSTS | IPCMARK_ON_NETWORK, IPCMARK_LATENCY | IPCMARK_FAN_OUT,
              MOST_FOLLOWERS, OPTIONS(pubsub_tcp_options));

static const struct ipcmark_transport *const transports[] = {&nng_ipc,     &nng_tcp,        &nng_req_ipc,
                                                             &nng_req_tcp, &nng_pubsub_ipc, &nng_pubsub_tcp};

const struct ipcmark_module *ipcmark_module(void) {
    static const struct ipcmark_module module = {
        .size = sizeof module,
        .abi_version = IPCMARK_ABI_VERSION,
        .family = "nng",
        .library_version = nng_version,
        .transports = transports,
        .transport_count = COUNT(transports),
    };
    return &module;
}
