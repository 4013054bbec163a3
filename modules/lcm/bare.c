/* A bare program of LCM over UDP multicast, the baseline for lcm-udpm. */
#include "shared/c/bare.h"

#include <errno.h>

#include <lcm/lcm.h>

struct end {
    lcm_t *lcm;
    char sent_to[48], *outgoing, *incoming;
    size_t payload;
    int has_message;
};

static void keep(const lcm_recv_buf_t *received, const char *channel, void *opened) {
    struct end *self = opened;
    (void)channel;
    self->has_message = received->data_size == self->payload;
    if (self->has_message)
        memcpy(self->incoming, received->data, self->payload);
}

static void *bare_open(const struct bare *bare) {
    struct end *self = calloc(1, sizeof *self);
    char taken_from[48];
    snprintf(self->sent_to, sizeof self->sent_to, "%s-%s", bare->name, bare->leads ? "there" : "back");
    snprintf(taken_from, sizeof taken_from, "%s-%s", bare->name, bare->leads ? "back" : "there");
    self->payload = bare->payload;
    self->outgoing = calloc(1, bare->payload), self->incoming = calloc(1, bare->payload);
    self->lcm = lcm_create("udpm://239.255.76.67:7667?ttl=0");
    if (!self->lcm || !lcm_subscribe(self->lcm, taken_from, keep, self))
        bare_fail("join a group");
    return self;
}

static void bare_send(void *end, const struct bare *bare, uint64_t number) {
    struct end *self = end;
    bare_write(self->outgoing, number);
    if (lcm_publish(self->lcm, self->sent_to, self->outgoing, (unsigned)bare->payload) != 0)
        bare_fail("send");
}

static uint64_t bare_receive(void *end, const struct bare *bare) {
    struct end *self = end;
    for (self->has_message = 0; !self->has_message;)
        if (lcm_handle_timeout(self->lcm, bare->spins ? 0 : 5) < 0 && errno != EINTR)
            bare_fail("receive");
    return bare_read(self->incoming);
}

static void bare_close(void *end) {
    struct end *self = end;
    lcm_destroy(self->lcm);
    free(self->outgoing), free(self->incoming);
    free(self);
}

int main(int argc, char **argv) {
    return bare_main(argc, argv);
}
