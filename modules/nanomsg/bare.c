/* A bare program of two PAIR sockets of nanomsg, the baseline for nanomsg-ipc. */
#include "shared/c/bare.h"

#include <errno.h>

#include <nanomsg/nn.h>
#include <nanomsg/pair.h>

struct end {
    int socket, flags;
    char path[64];
    char *outgoing;
};

static void *bare_open(const struct bare *bare) {
    struct end *self = calloc(1, sizeof *self);
    const int most = (int)bare->payload;
    char url[80];
    snprintf(self->path, sizeof self->path, "/tmp/%s", bare->name);
    snprintf(url, sizeof url, "ipc://%s", self->path);
    self->flags = bare->spins ? NN_DONTWAIT : 0;
    self->outgoing = calloc(1, bare->payload);
    self->socket = nn_socket(AF_SP, NN_PAIR);
    if (nn_setsockopt(self->socket, NN_SOL_SOCKET, NN_RCVMAXSIZE, &most, sizeof most) != 0)
        bare_fail("allow large messages");
    if ((bare->leads ? nn_bind(self->socket, url) : nn_connect(self->socket, url)) < 0)
        bare_fail("connect");
    return self;
}

static void bare_send(void *end, const struct bare *bare, uint64_t number) {
    const struct end *self = end;
    bare_write(self->outgoing, number);
    while (nn_send(self->socket, self->outgoing, bare->payload, self->flags) < 0)
        if (nn_errno() != EAGAIN)
            bare_fail("send");
}

static uint64_t bare_receive(void *end, const struct bare *bare) {
    const struct end *self = end;
    void *message = NULL;
    int count;
    while ((count = nn_recv(self->socket, (void *)&message, NN_MSG, self->flags)) < 0)
        if (nn_errno() != EAGAIN)
            bare_fail("receive");
    if ((size_t)count != bare->payload)
        bare_fail("receive a whole message");
    const uint64_t number = bare_read(message);
    nn_freemsg(message);
    return number;
}

static void bare_close(void *end) {
    struct end *self = end;
    nn_close(self->socket);
    unlink(self->path);
    free(self->outgoing);
    free(self);
}

int main(int argc, char **argv) {
    return bare_main(argc, argv);
}
