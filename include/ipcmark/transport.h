/* The C contract between ipcmark and a transport in any language.
 *
 * A *module* is a shared object that exports one function, ipcmark_module(). It describes one or
 * more *transports*: ways of moving messages between processes. ipcmark measures each between a leader and its
 * followers, in processes of their own. modules/null/null.c is the skeleton, docs/adding-a-transport.md the guide.
 *
 * What holds for everything below:
 *  - A module is loaded in three kinds of processes, never in the command itself: one that probes,
 *    the two or more workers of a session, and one that names what killed sessions left.
 *    In each, one thread calls it, one call at a time. The library may start threads of its own.
 *  - Two ends use two separate ways for the two directions: an end never takes what it published.
 *  - A message arrives once, in order, whole, with its length. A full queue is WOULD_BLOCK, never a
 *    drop and never an error.
 *  - No exception, longjmp or exit() leaves a function. Nothing is printed, and what the module
 *    itself does between open and close neither allocates nor reads a clock.
 *  - Strings are UTF-8 and end with a NUL byte; those of a description live as long as the process.
 *  - Every struct begins with its size. It grows at its tail only, within one version: who reads a
 *    field beyond `size` of what it was given reads what is not there.
 *  - Bits, flags and reserved fields that are not named here are 0.
 */
#ifndef IPCMARK_TRANSPORT_H
#define IPCMARK_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counted up where a module built against an older header could no longer be used. */
#define IPCMARK_ABI_VERSION 1

/* What a function that returns int returns. */
enum ipcmark_result {
    IPCMARK_DONE = 0,        /* It is done. */
    IPCMARK_WOULD_BLOCK = 1, /* It cannot be done yet: call again with the same arguments. */
    IPCMARK_FAILED = -1,     /* It cannot be done; the error is filled in. The end is of no use. */
    IPCMARK_PEER_GONE = -2   /* As FAILED, because the other process is gone. */
};
/* How an end waits; bits in a description, exactly one of them in the settings. */
enum ipcmark_wait {
    IPCMARK_SPIN = 1,  /* loan, publish and take never sleep: they return WOULD_BLOCK. */
    IPCMARK_BLOCK = 2, /* They sleep in the kernel until it is done; they may return WOULD_BLOCK
                          early. With `wait` present, take never sleeps: ipcmark calls wait. */
    IPCMARK_HYBRID = 4 /* As BLOCK, but an end polls for a while before it sleeps. With `wait`
                          present, ipcmark polls take and then calls wait; else take does both. */
};

/* The shape of the traffic; bits in a description: ONE_WAY and THROUGHPUT follow from LATENCY, FAN_IN from FAN_OUT. */
enum ipcmark_pattern {
    IPCMARK_LATENCY = 1,    /* One message out, one message back. */
    IPCMARK_ONE_WAY = 2,    /* Messages timed on their way. */
    IPCMARK_THROUGHPUT = 4, /* Messages one way as fast as they go. */
    IPCMARK_FAN_OUT = 8,    /* What the leader publishes reaches every follower. */
    IPCMARK_FAN_IN = 16     /* The leader takes what every follower publishes. */
};

/* Bits in a description. */
enum ipcmark_flag {
    IPCMARK_LOANS = 1,         /* The room on loan and the message taken are the very memory that the
                                  other end reads and writes: nothing is copied. */
    IPCMARK_CROSSES_HOSTS = 2, /* The ends can be on different hosts. */
    IPCMARK_UNRELIABLE = 4,    /* A message may be lost. No call sleeps longer than 10 ms. */
    IPCMARK_ALTERNATING = 8,   /* The ends must take turns: request, reply, request, ... */
    IPCMARK_NO_HOP = 16,       /* An end takes back what it published (null only). */
    IPCMARK_SAME_PROCESS = 32, /* A message goes from thread to thread of one process. */
    IPCMARK_EXCLUSIVE = 64,    /* Its names are fixed: without a sandbox, one session of its family. */
    IPCMARK_IN_MEMORY = 128,   /* Memory that both processes map carries the messages, or */
    IPCMARK_ON_NETWORK = 256,  /* a network interface, or a buffer of the kernel: */
    IPCMARK_IN_KERNEL = 512,   /* another carrier found marks the row. */
    IPCMARK_ONE_END = 1024     /* A process can have one end open, for it uses what a process has once. */
};

enum ipcmark_role { IPCMARK_LEADER = 0, IPCMARK_FOLLOWER = 1 };

/* Why something failed: "cannot {operation} {object}: {cause}; {remedy}". ipcmark gives it, cleared,
 * for one call; the module fills it in, best with ipcmark_fail(), and keeps no pointer. */
struct ipcmark_error {
    uint32_t size;
    int32_t number;     /* An errno, or 0. */
    char operation[64]; /* "create" */
    char object[192];   /* "the message queue /x" */
    char cause[512];    /* What the library says; if empty, the text of `number`. */
    char remedy[256];   /* What helps: a command, where there is one. May be "". */
};

/* Fills in an error and returns IPCMARK_FAILED. Any text may be NULL. */
static inline int ipcmark_fail(struct ipcmark_error *error, const char *operation, const char *object,
                               const char *cause, const char *remedy) {
    snprintf(error->operation, sizeof error->operation, "%s", operation ? operation : "");
    snprintf(error->object, sizeof error->object, "%s", object ? object : "");
    snprintf(error->cause, sizeof error->cause, "%s", cause ? cause : "");
    snprintf(error->remedy, sizeof error->remedy, "%s", remedy ? remedy : "");
    return IPCMARK_FAILED;
}

/* The same for a failed system call. */
static inline int ipcmark_fail_errno(struct ipcmark_error *error, const char *operation, const char *object, int number,
                                     const char *remedy) {
    return error->number = number, ipcmark_fail(error, operation, object, "", remedy);
}

/* Writes zeros into every page of fresh memory, so that the measured loop takes no page fault: a
 * memset does not, for compilers make of it and malloc a calloc that touches nothing. */
static inline void ipcmark_touch(void *memory, size_t len) {
    volatile unsigned char *bytes = (volatile unsigned char *)memory;
    for (size_t at = 0; at < len; at += 1024)
        bytes[at] = 0;
    if (len > 0)
        bytes[len - 1] = 0;
}

/* What users can set of a transport. */
struct ipcmark_option_spec {
    const char *key, *accepts;      /* Accepted: words, numbers as 1..64k, FILE or DIR, with '|'. */
    const char *standard, *summary; /* What it is where nobody sets it; one line: what it does. */
};

struct ipcmark_option {
    const char *key, *value; /* As it was set: checked; numbers in plain digits, paths absolute. */
};

/* What an end is opened with: the same on every end but for the role. Gone when open returns. */
struct ipcmark_settings {
    uint32_t size;
    uint32_t role;         /* enum ipcmark_role */
    uint32_t follower;     /* A follower's number from 0; a leader's is 0. */
    uint32_t wait;         /* One bit of enum ipcmark_wait, one of those the transport has. */
    uint64_t payload;      /* The largest message, in bytes, that this end will carry. */
    uint32_t subscribers;  /* How many followers there are. */
    uint32_t option_count; /* How many of the transport's options the user has set. */
    const struct ipcmark_option *options;
    const char *name;      /* At most 40 letters, digits and '-' that nothing else on the machine
                              has: the start of the name of everything that is made. */
    const char *directory; /* A directory of this session alone, for what needs a path. */
    const char *address;   /* Where ends on other hosts reach this one; NULL: all are on this one. */
};

/* The way to the other ends while this one opens, and nothing after. The leader has one peer for
 * each follower, numbered as they are; a follower has one, the leader, with the number 0. Frames
 * arrive in order: at most 4096 bytes and 16 descriptors each. Call as session->send(session, ...).
 * They return DONE, or FAILED or PEER_GONE with the error filled in, which open may hand on. */
struct ipcmark_session {
    uint32_t size;
    uint32_t peers; /* How many peers there are. */
    /* Sends a frame to a peer. Bytes and descriptors stay the module's. */
    int (*send)(struct ipcmark_session *session, uint32_t peer, const void *bytes, size_t len, const int *fds,
                size_t fd_count, struct ipcmark_error *error);
    /* Sleeps until a frame of a peer is there. On entry *len and *fd_count say how much fits, else
     * it is an error, on return how much came. fds may be NULL if fd_count is. Descriptors are the
     * module's from now on, and close on exec. */
    int (*receive)(struct ipcmark_session *session, uint32_t peer, void *bytes, size_t *len, int *fds, size_t *fd_count,
                   struct ipcmark_error *error);
    /* Waits until every end has come to the same point. */
    int (*meet)(struct ipcmark_session *session, struct ipcmark_error *error);
    /* Writes a setting of the library into the result, copied: note(session, "pool", "16 x 4 MiB"). */
    void (*note)(struct ipcmark_session *session, const char *key, const char *value);
    /* Says that, with the options set, messages may be lost: as IPCMARK_UNRELIABLE, for this end. */
    void (*may_lose)(struct ipcmark_session *session);
};

/* One way of moving messages. Functions are required unless they say otherwise. */
struct ipcmark_transport {
    uint32_t size;
    uint32_t flags;           /* enum ipcmark_flag */
    const char *name;         /* Lower case letters and digits, words joined by '-', at most 40. */
    const char *summary;      /* One line: mechanism and copies. */
    uint64_t max_payload;     /* The largest message in bytes; ipcmark sends 16 bytes to 4 MiB. */
    uint32_t waits;           /* Bits of enum ipcmark_wait */
    uint32_t patterns;        /* Bits of enum ipcmark_pattern */
    uint32_t max_subscribers; /* How many followers one leader can have: 1 or more. */
    uint32_t option_count;    /* How many of `options` there are. */
    const void *context;      /* Per-transport data, opaque to ipcmark. */

    /* Whether it can run on this machine: DONE, or FAILED with a cause and, as remedy, what to
     * install or to set. Optional: without it, it can run where the module can be loaded. Called in
     * a process of its own, outside the sandbox: be quick, start nothing, leave nothing. */
    int (*probe)(const struct ipcmark_transport *transport, struct ipcmark_error *error);

    /* Opens one end and stores it in *end: the module's, of any type. Called once a case in the
     * leader and in every follower, at the same time. Makes, fills and touches every buffer. It
     * must not hang where another end fails: only session's functions may wait for ever.
     * DONE, FAILED or PEER_GONE; unless DONE, everything made is undone and close is not called. */
    int (*open)(const struct ipcmark_transport *transport, const struct ipcmark_settings *settings,
                struct ipcmark_session *session, void **end, struct ipcmark_error *error);

    /* Hands a message of `len` bytes, 16 or more, over to the other end. `message` is the room of
     * the last loan, which is the module's again once DONE; without loan it is a buffer of ipcmark's
     * that is touched, page-aligned, the same every time, and may be written again once DONE.
     * WOULD_BLOCK may leave a part of the work done: the next call, with the same arguments, goes
     * on there; a take may come in between. */
    int (*publish)(void *end, void *message, size_t len, struct ipcmark_error *error);

    /* Receives the next message in place: its address in *message and its length in *len. It is the
     * module's, and stays as it is until release, or without release until the next take or close.
     * One is taken at a time; one may be on loan or half published meanwhile. */
    int (*take)(void *end, const void **message, size_t *len, struct ipcmark_error *error);

    /* Gives everything back, whatever state the end is in: after an error, in the middle of a message, with the other
     * process dead. Never hangs. Leaves no file, queue, segment or child, but what a library needs that starts once. */
    void (*close)(void *end);

    /* Optional: gets room for one message of exactly `len` bytes, at most the payload of the
     * settings, with undefined content: *room is the module's, the caller's to write until it calls
     * publish. One is on loan at a time; close takes it back. DONE, WOULD_BLOCK or an error. */
    int (*loan)(void *end, size_t len, void **room, struct ipcmark_error *error);

    /* Optional: gives the room of the message taken back. Never sleeps. DONE or an error. */
    int (*release)(void *end, const void *message, struct ipcmark_error *error);

    /* Optional, with BLOCK or HYBRID only: sleeps until take may find a message, at most `timeout_ns`. DONE also if
     * not sure, WOULD_BLOCK after the timeout, or an error. What arrived since the last take ends it at once. */
    int (*wait)(void *end, uint64_t timeout_ns, struct ipcmark_error *error);
    const struct ipcmark_option_spec *options; /* May be NULL. */
    /* Optional: whether what was set can be used: files that it names, and how options go together.
     * Called in a process of its own before anything is measured. DONE or FAILED. */
    int (*check)(const struct ipcmark_transport *transport, const struct ipcmark_option *options, uint32_t option_count,
                 struct ipcmark_error *error);
    uint64_t memory_limit; /* With IPCMARK_IN_MEMORY: the kernel carries larger messages; 0: none. */
};

/* A shared object that offers transports. */
struct ipcmark_module {
    uint32_t size;
    uint32_t abi_version; /* IPCMARK_ABI_VERSION; size and this are read first, in every version. */
    const char *family;   /* Whose the transports are: "zeromq". Letters as in a name. */
    /* Optional: the version of the library as it is loaded, after probe: "4.3.4", valid for the
     * process's lifetime. */
    const char *(*library_version)(void);
    const struct ipcmark_transport *const *transports; /* transport_count addresses */
    uint32_t transport_count;
    uint32_t reserved;
    /* Optional: calls file(list, path) for each file right in /dev/shm, /tmp or /var/tmp that killed
     * sessions can have left under names of the library's own; those that begin with a session's name
     * ipcmark knows. It removes what this user owns and nobody has open. In a process of its own. */
    int (*leftovers)(void (*file)(void *list, const char *path), void *list, struct ipcmark_error *error);
};

#define IPCMARK_EXPORT __attribute__((visibility("default")))
/* The one symbol of a module, called once: it only returns the address of what lives as long as the
 * process: no work, no failure. In C++ write `struct` before its type's name. */
IPCMARK_EXPORT const struct ipcmark_module *ipcmark_module(void);

#ifdef __cplusplus
}
#endif
#endif
