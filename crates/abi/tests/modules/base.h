/* A correct module: a pair of packet sockets. Each file in this folder changes one thing and
 * includes it. */
#include <ipcmark/transport.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef NAME
#define NAME "test-transport"
#endif
#ifndef FAMILY
#define FAMILY "test"
#endif
#ifndef ABI_VERSION
#define ABI_VERSION IPCMARK_ABI_VERSION
#endif
#ifndef TRANSPORT_SIZE
#define TRANSPORT_SIZE sizeof(struct ipcmark_transport)
#endif
#ifndef FLAGS
#define FLAGS 0
#endif
#ifndef WAITS
#define WAITS IPCMARK_SPIN
#endif
#ifndef PROBE
#define PROBE NULL
#endif
#ifndef TAKE
#define TAKE take
#endif
#ifndef LEFTOVERS
#define LEFTOVERS NULL
#endif
#ifndef OPENED
#define OPENED(session, settings) (void)0
#endif
#ifndef BEFORE_TAKE
#define BEFORE_TAKE(end) (void)0
#endif
#ifndef CONNECT
#define CONNECT connect_pair
#endif

enum { LARGEST = 65536 };

struct end {
    int in, out;
    unsigned taken;
    unsigned char message[LARGEST];
};

/* Makes the descriptors of both ends: [0] for reading, [1] for writing. */
__attribute__((unused)) static int connect_pair(int leader[2], int follower[2]) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    leader[0] = leader[1] = pair[0];
    follower[0] = follower[1] = pair[1];
    return 0;
}

static int exchange(struct ipcmark_session *session, const struct ipcmark_settings *settings, int mine[2],
                    struct ipcmark_error *error) {
    size_t len = 0, count = 2;
    if (settings->role == IPCMARK_FOLLOWER)
        return session->receive(session, 0, NULL, &len, mine, &count, error);
    int follower[2];
    if (CONNECT(mine, follower) != 0)
        return ipcmark_fail_errno(error, "make", "a pair of sockets", errno, NULL);
    int result = session->send(session, 0, NULL, 0, follower, 2, error);
    close(follower[0]);
    if (follower[1] != follower[0])
        close(follower[1]);
    return result;
}

static int open_end(const struct ipcmark_transport *transport, const struct ipcmark_settings *settings,
                    struct ipcmark_session *session, void **end, struct ipcmark_error *error) {
    (void)transport;
    OPENED(session, settings);
    int mine[2];
    int result = exchange(session, settings, mine, error);
    if (result != IPCMARK_DONE)
        return result;
    struct end *opened = calloc(1, sizeof *opened);
    if (!opened)
        return ipcmark_fail_errno(error, "allocate", "an end", ENOMEM, NULL);
    opened->in = mine[0];
    opened->out = mine[1];
    *end = opened;
    return IPCMARK_DONE;
}

static int publish(void *end, void *message, size_t len, struct ipcmark_error *error) {
    struct end *self = end;
    if (write(self->out, message, len) == (ssize_t)len)
        return IPCMARK_DONE;
    if (errno == EAGAIN)
        return IPCMARK_WOULD_BLOCK;
    if (errno == EPIPE)
        return IPCMARK_PEER_GONE;
    return ipcmark_fail_errno(error, "write to", "the socket", errno, NULL);
}

__attribute__((unused)) static int take(void *end, const void **message, size_t *len, struct ipcmark_error *error) {
    struct end *self = end;
    BEFORE_TAKE(self);
    ssize_t count = read(self->in, self->message, sizeof self->message);
    if (count < 0 && errno == EAGAIN)
        return IPCMARK_WOULD_BLOCK;
    if (count < 0)
        return ipcmark_fail_errno(error, "read from", "the socket", errno, NULL);
    if (count == 0)
        return IPCMARK_PEER_GONE;
    self->taken++;
    *message = self->message;
    *len = (size_t)count;
    return IPCMARK_DONE;
}

static void close_end(void *end) {
    struct end *self = end;
    close(self->in);
    if (self->out != self->in)
        close(self->out);
    free(self);
}

#ifdef OPTION
static const struct ipcmark_option_spec option = OPTION;
#endif

#ifndef NO_ENTRY
static const struct ipcmark_transport transport = {
    .size = TRANSPORT_SIZE,
    .flags = FLAGS,
    .name = NAME,
    .summary = "packet sockets behind the C contract, for tests",
    .max_payload = LARGEST,
    .waits = WAITS,
    .patterns = IPCMARK_LATENCY,
    .max_subscribers = 1,
    .probe = PROBE,
    .open = open_end,
    .publish = publish,
    .take = TAKE,
    .close = close_end,
#ifdef OPTION
    .options = &option,
    .option_count = 1,
#endif
};

static const char *version(void) {
    return "7.7";
}

const struct ipcmark_module *ipcmark_module(void) {
    static const struct ipcmark_transport *const transports[] = {&transport};
    static const struct ipcmark_module module = {
        .size = sizeof module,
        .abi_version = ABI_VERSION,
        .family = FAMILY,
        .library_version = version,
        .transports = transports,
        .transport_count = 1,
        .leftovers = LEFTOVERS,
    };
    return &module;
}
#endif
