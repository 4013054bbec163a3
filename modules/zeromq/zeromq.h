/* What the transports of ZeroMQ have in common: an end, its set-up and its teardown. */
#ifndef IPCMARK_ZEROMQ_H
#define IPCMARK_ZEROMQ_H

#include <ipcmark/transport.h>

#include <stdbool.h>

#include <zmq.h>

/* The types of the two sockets between which the messages of a direction go. */
struct way {
    int leader, follower;
};

/* The context of a transport: what differs between them. */
struct kind {
    struct way there, back; /* One socket at each end has both directions where the two are equal. */
    bool tcp;
};

struct end {
    void *context;
    void *outgoing, *incoming; /* Sockets, which may be one and the same. */
    int flags;                 /* ZMQ_DONTWAIT where it spins */
    zmq_msg_t message;         /* The message taken */
};

/* Fills in the error with what ZeroMQ says, and returns IPCMARK_FAILED. */
int zeromq_fail(struct ipcmark_error *error, const char *operation, const char *object);

/* Makes the sockets and connects them with those of the other ends. After a failure, too, the end must be closed. */
int zeromq_set_up(struct end *end, const struct kind *kind, const struct ipcmark_settings *settings,
                  struct ipcmark_session *session, struct ipcmark_error *error);

void zeromq_close(void *end);

#endif
