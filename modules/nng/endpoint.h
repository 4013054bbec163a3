/* Shared code of the transports of NNG: an endpoint, its set-up and its teardown. */
#ifndef IPCMARK_NNG_ENDPOINT_H
#define IPCMARK_NNG_ENDPOINT_H

#include <ipcmark/transport.h>

#include <stdbool.h>

#include <nng/nng.h>

/* The types of the two sockets of a direction. */
struct way {
    int (*leader)(nng_socket *);
    int (*follower)(nng_socket *);
};

/* The context of a transport: the differences between them. */
struct kind {
    struct way there, back; /* If `back` is empty, one socket at each end has both directions. */
    bool tcp;
    bool requests; /* REQ and REP */
};

/* A publisher drops messages for a full queue, and does not learn who has subscribed. */
static inline bool nng_publishes(const struct kind *kind) {
    return kind->back.leader != NULL;
}

struct end {
    nng_socket outgoing, incoming; /* May be the same socket. */
    int flags;                     /* NNG_FLAG_NONBLOCK if it spins */
    int send_flags;                /* The same, but 0 for REP: a reply that is not accepted at once is lost */
    int answered;                  /* A spinning REQ: a descriptor, readable once the answer is there; else -1 */
    int connected;                 /* An eventfd that counts connections while it opens; else -1 */
    nng_msg *message;              /* The message taken, or NULL */
    bool may_lose_answers;         /* True if it answers a publisher, which may have stopped taking the answers */
    uint64_t refused_since_ms;     /* The time since which such an answer has found no room; 0: it found room */
};

/* Fills in the error with NNG's message for the code, and returns IPCMARK_FAILED. */
int nng_fail(struct ipcmark_error *error, const char *operation, const char *object, int code);

/* Makes the sockets and connects them to the other endpoints. Even after a failure, the endpoint must be closed. */
int nng_set_up(struct end *end, const struct kind *kind, const struct ipcmark_settings *settings,
               struct ipcmark_session *session, struct ipcmark_error *error);

void nng_close_end(void *end);

#endif
