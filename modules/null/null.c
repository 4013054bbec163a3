/* null-module: no hop at all, through the C contract. An end takes back what it published, so a
 * round trip costs what ipcmark and the contract themselves cost: compare it with the transport
 * `null`, which does the same without the contract.
 *
 * - Mechanism: a buffer of the process's own; nothing reaches the other process.
 * - Kernel objects: none. Copies a message: none. Blocks: never. Limits: none.
 *
 * This file is also the skeleton to copy: it contains every function of the contract, in the order
 * in which ipcmark calls them, with a comment on its content in a transport that carries messages.
 */
#include <ipcmark/transport.h>

#include <stdbool.h>
#include <stdlib.h>

/* The state of one end: all that the hot path needs, so that nothing is global and two ends can
 * live in one process. */
struct end {
    size_t len; /* The length of the message on loan or published. */
    bool published;
    unsigned char *buffer;
};

/* Set-up -------------------------------------------------------------------------------------- */

/* Checks that the library works here: its daemon's program is installed, the kernel has the
 * feature. Leave it out (NULL) if loading the module already proves it. */
static int probe(const struct ipcmark_transport *transport, struct ipcmark_error *error) {
    (void)transport;
    (void)error;
    return IPCMARK_DONE;
}

/* Both ends open at the same time. The usual order: the leader makes the objects, named after
 * settings->name; session->meet; the follower opens them; session->meet; the creator of a name in
 * the file system removes it, since nobody needs it any more. Ends that find each other by other means
 * than the session wait no longer than settings->connect_ns. */
static int open_end(const struct ipcmark_transport *transport, const struct ipcmark_settings *settings,
                    struct ipcmark_session *session, void **end, struct ipcmark_error *error) {
    (void)transport;
    (void)session;
    struct end *opened = calloc(1, sizeof *opened);
    unsigned char *buffer = malloc(settings->payload);
    if (!opened || !buffer) {
        free(buffer);
        free(opened);
        return ipcmark_fail(error, "allocate", "the buffer", "there is no memory left", NULL);
    }
    ipcmark_touch(buffer, settings->payload);
    opened->buffer = buffer;
    *end = opened;
    return IPCMARK_DONE;
}

/* The hot path -------------------------------------------------------------------------------- */

/* Gives room for one message, in the memory from which the other end reads. Without such room leave
 * loan out: publish then gets a buffer of ipcmark's. */
static int loan(void *end, size_t len, void **room, struct ipcmark_error *error) {
    struct end *self = end;
    (void)error;
    if (self->published)
        return IPCMARK_WOULD_BLOCK;
    self->len = len;
    *room = self->buffer;
    return IPCMARK_DONE;
}

/* Publishes the message. If the queue is full, it returns IPCMARK_WOULD_BLOCK if settings->wait is
 * IPCMARK_SPIN, and sleeps in the kernel if it is IPCMARK_BLOCK. */
static int publish(void *end, void *message, size_t len, struct ipcmark_error *error) {
    struct end *self = end;
    (void)message;
    (void)len;
    (void)error;
    self->published = true;
    return IPCMARK_DONE;
}

/* The next message, in place if the library allows it. */
static int take(void *end, const void **message, size_t *len, struct ipcmark_error *error) {
    struct end *self = end;
    (void)error;
    if (!self->published)
        return IPCMARK_WOULD_BLOCK;
    *message = self->buffer;
    *len = self->len;
    return IPCMARK_DONE;
}

/* Frees the message's room. Without this function a message stays until the next take. */
static int release(void *end, const void *message, struct ipcmark_error *error) {
    struct end *self = end;
    (void)message;
    (void)error;
    self->published = false;
    return IPCMARK_DONE;
}

/* Teardown ------------------------------------------------------------------------------------ */

static void close_end(void *end) {
    struct end *self = end;
    free(self->buffer);
    free(self);
}

/* The definition ------------------------------------------------------------------------------ */

/* The library's version as it is loaded. There is none here, so the module has no such function:
 *
 *     static const char *library_version(void) { return zmq_version_text(); }
 */

static const struct ipcmark_transport null_module = {
    .size = sizeof null_module,
    .flags = IPCMARK_LOANS | IPCMARK_NO_HOP, /* a transport that carries messages has no NO_HOP */
    .name = "null-module",
    .summary = "no hop through the C contract: what the contract costs",
    .max_payload = 4 << 20,
    .waits = IPCMARK_SPIN,
    .patterns = IPCMARK_LATENCY,
    .max_subscribers = 1,
    .probe = probe,
    .open = open_end,
    .publish = publish,
    .take = take,
    .close = close_end,
    .loan = loan,
    .release = release,
};

static const struct ipcmark_transport *const transports[] = {&null_module};

const struct ipcmark_module *ipcmark_module(void) {
    static const struct ipcmark_module module = {
        .size = sizeof module,
        .abi_version = IPCMARK_ABI_VERSION,
        .family = "harness",
        .transports = transports,
        .transport_count = 1,
    };
    return &module;
}
