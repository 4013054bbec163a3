/* Shared code of the transports of ZeroMQ: an endpoint, its set-up and its teardown. */
#ifndef IPCMARK_ZEROMQ_H
#define IPCMARK_ZEROMQ_H

#include <ipcmark/transport.h>

#include <stdbool.h>

#include <zmq.h>

/* The types of the two sockets of a direction. */
struct way {
    int leader, follower;
};

/* The context of a transport: the differences between them. */
struct kind {
    struct way there, back; /* If the two are equal, one socket at each end has both directions. */
    bool tcp;
};

struct end {
    void *context;
    void *outgoing, *incoming; /* Sockets, which may be the same. */
    int flags;                 /* ZMQ_DONTWAIT if it spins */
    zmq_msg_t message;         /* The taken message */
};

/* Fills in the error with ZeroMQ's message, and returns IPCMARK_FAILED. */
int zeromq_fail(struct ipcmark_error *error, const char *operation, const char *object);

/* Makes the sockets and connects them to the other endpoints. Even after a failure, the endpoint must be closed. */
int zeromq_set_up(struct end *end, const struct kind *kind, const struct ipcmark_settings *settings,
                  struct ipcmark_session *session, struct ipcmark_error *error);

void zeromq_close(void *end);

#endif
