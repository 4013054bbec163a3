/* packets: a transport to learn from, the same in C as packets.rs is in Rust.
 *
 * - Mechanism: a pair of Unix domain sockets that keep packets apart, one packet a message.
 * - Kernel objects: the pair; the leader makes it and hands the follower one socket.
 * - Copies a message: two, into the kernel and out of it.
 * - Spin: the calls do not wait, an empty or full queue answers EAGAIN. Block: they sleep.
 * - Limits: 64 KiB a message, for larger packets need kernel memory in one large piece.
 */
#include <ipcmark/transport.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LARGEST = 64 * 1024 };

/* One end -------------------------------------------------------------------------------------- */

struct end {
    int socket;
    int flags; /* MSG_DONTWAIT where the end polls. */
    unsigned char message[LARGEST];
};

/* Set-up --------------------------------------------------------------------------------------- */

/* The leader makes the pair and keeps one socket; descriptors travel through the session. */
static int lead(struct ipcmark_session *session, int *own, struct ipcmark_error *error) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return ipcmark_fail_errno(error, "create", "the socket pair", errno, "ulimit -n 1024");
    int result = session->send(session, 0, NULL, 0, &pair[1], 1, error);
    close(pair[1]);
    if (result != IPCMARK_DONE)
        close(pair[0]);
    *own = pair[0];
    return result;
}

static int follow(struct ipcmark_session *session, int *own, struct ipcmark_error *error) {
    size_t len = 0, count = 1;
    return session->receive(session, 0, NULL, &len, own, &count, error);
}

static int open_end(const struct ipcmark_transport *transport, const struct ipcmark_settings *settings,
                    struct ipcmark_session *session, void **end, struct ipcmark_error *error) {
    (void)transport;
    int leads = settings->role == IPCMARK_LEADER, own = -1;
    int result = leads ? lead(session, &own, error) : follow(session, &own, error);
    if (result != IPCMARK_DONE)
        return result;
    struct end *opened = malloc(sizeof *opened);
    if (!opened) {
        close(own);
        return ipcmark_fail_errno(error, "allocate", "the buffer", ENOMEM, NULL);
    }
    ipcmark_touch(opened, sizeof *opened);
    opened->socket = own;
    opened->flags = settings->wait == IPCMARK_SPIN ? MSG_DONTWAIT : 0;
    *end = opened;
    return IPCMARK_DONE;
}

/* The hot path --------------------------------------------------------------------------------- */

/* What a failed call means: nothing yet, the other process gone, or an error. */
static int explain(struct ipcmark_error *error, const char *operation) {
    if (errno == EAGAIN || errno == EINTR)
        return IPCMARK_WOULD_BLOCK;
    if (errno == EPIPE || errno == ECONNRESET)
        return IPCMARK_PEER_GONE;
    return ipcmark_fail_errno(error, operation, "the socket", errno, NULL);
}

static int publish(void *end, void *message, size_t len, struct ipcmark_error *error) {
    struct end *self = end;
    ssize_t sent = send(self->socket, message, len, self->flags | MSG_NOSIGNAL);
    return sent >= 0 ? IPCMARK_DONE : explain(error, "write to");
}

static int take(void *end, const void **message, size_t *len, struct ipcmark_error *error) {
    struct end *self = end;
    ssize_t received = recv(self->socket, self->message, LARGEST, self->flags);
    if (received < 0)
        return explain(error, "read from");
    if (received == 0)
        return IPCMARK_PEER_GONE;
    *message = self->message;
    *len = (size_t)received;
    return IPCMARK_DONE;
}

/* Teardown ------------------------------------------------------------------------------------- */

static void close_end(void *end) {
    struct end *self = end;
    close(self->socket);
    free(self);
}

/* The definition ------------------------------------------------------------------------------- */

static const struct ipcmark_transport packets = {
    .size = sizeof packets,
    .name = "packets",
    .summary = "packet sockets in C, to learn from; two copies a message",
    .max_payload = LARGEST,
    .waits = IPCMARK_SPIN | IPCMARK_BLOCK,
    .patterns = IPCMARK_LATENCY,
    .max_subscribers = 1,
    .open = open_end,
    .publish = publish,
    .take = take,
    .close = close_end,
};

static const struct ipcmark_transport *const transports[] = {&packets};

const struct ipcmark_module *ipcmark_module(void) {
    static const struct ipcmark_module module = {
        .size = sizeof module,
        .abi_version = IPCMARK_ABI_VERSION,
        .family = "example",
        .transports = transports,
        .transport_count = sizeof transports / sizeof *transports,
    };
    return &module;
}
