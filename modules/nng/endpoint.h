/* What the transports of NNG have in common: an end, its set-up and its teardown. */
#ifndef IPCMARK_NNG_ENDPOINT_H
#define IPCMARK_NNG_ENDPOINT_H

#include <ipcmark/transport.h>

#include <stdbool.h>

#include <nng/nng.h>

/* The sockets between which the messages of a direction go. */
struct way {
    int (*leader)(nng_socket *);
    int (*follower)(nng_socket *);
};

/* The context of a transport: what differs between them. */
struct kind {
    struct way there, back; /* Without a second way one socket at each end has both directions. */
    bool tcp;
    bool requests; /* REQ and REP */
};

/* A publisher drops what finds a queue full, and does not learn who has subscribed. */
static inline bool nng_publishes(const struct kind *kind) {
    return kind->back.leader != NULL;
}

struct end {
    nng_socket outgoing, incoming; /* They may be one and the same. */
    int flags;                     /* NNG_FLAG_NONBLOCK where it spins */
    int send_flags;                /* The same, but 0 for REP: a reply that is not accepted at once is lost */
    int answered;                  /* A descriptor, readable once the answer is there: of a REQ that spins; else -1 */
    int connected;                 /* An eventfd that counts the followers of a publisher; else -1 */
    nng_msg *message;              /* The message taken, or NULL */
    bool may_lose_answers;         /* Whether it answers a publisher, which takes no answer that it waits for no more */
    uint64_t refused_since_ms;     /* Since when such an answer finds no room; 0 where it found some */
};

/* Fills in the error with what NNG says of the code, and returns IPCMARK_FAILED. */
int nng_fail(struct ipcmark_error *error, const char *operation, const char *object, int code);

/* Makes the sockets and connects them with those of the other ends. After a failure, too, the end must be closed. */
int nng_set_up(struct end *end, const struct kind *kind, const struct ipcmark_settings *settings,
               struct ipcmark_session *session, struct ipcmark_error *error);

void nng_close_end(void *end);

#endif
