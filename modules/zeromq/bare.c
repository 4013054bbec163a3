/* A bare program of REQ and REP over a Unix domain socket, the baseline for zeromq-ipc. */
#include "shared/c/bare.h"

#include <errno.h>

#include <zmq.h>

struct end {
    void *context, *socket;
    int flags;
    unsigned char *outgoing;
    zmq_msg_t incoming;
};

static void *bare_open(const struct bare *bare) {
    struct end *self = calloc(1, sizeof *self);
    char address[64];
    snprintf(address, sizeof address, "ipc://@%s", bare->name);
    self->outgoing = calloc(1, bare->payload);
    self->flags = bare->spins ? ZMQ_DONTWAIT : 0;
    self->context = zmq_ctx_new();
    self->socket = zmq_socket(self->context, bare->leads ? ZMQ_REQ : ZMQ_REP);
    zmq_msg_init(&self->incoming);
    if (bare->leads && zmq_bind(self->socket, address) != 0)
        bare_fail("bind a ZeroMQ socket");
    bare_meet(bare);
    if (!bare->leads && zmq_connect(self->socket, address) != 0)
        bare_fail("connect a ZeroMQ socket");
    return self;
}

static void bare_send(void *end, const struct bare *bare, uint64_t number) {
    struct end *self = end;
    bare_write(self->outgoing, number);
    while (zmq_send(self->socket, self->outgoing, bare->payload, self->flags) < 0)
        if (zmq_errno() != EAGAIN)
            bare_fail("send a ZeroMQ message");
}

static uint64_t bare_receive(void *end, const struct bare *bare) {
    struct end *self = end;
    while (zmq_msg_recv(&self->incoming, self->socket, self->flags) < 0)
        if (zmq_errno() != EAGAIN)
            bare_fail("receive a ZeroMQ message");
    if (zmq_msg_size(&self->incoming) != bare->payload)
        bare_fail("receive a whole ZeroMQ message");
    return bare_read(zmq_msg_data(&self->incoming));
}

static void bare_close(void *end) {
    struct end *self = end;
    zmq_msg_close(&self->incoming);
    zmq_close(self->socket);
    zmq_ctx_term(self->context);
    free(self->outgoing);
    free(self);
}

int main(int argc, char **argv) {
    return bare_main(argc, argv);
}
