/* The C contract between ipcmark and a transport in any language.
 *
 * A *module* is a shared object that exports one function, ipcmark_module(). It describes one or
 * more *transports*: ways of moving messages between processes. ipcmark measures each between a leader and its
 * followers, in separate processes. modules/null/null.c is the skeleton, docs/adding-a-transport.md the guide.
 *
 * Rules for everything below:
 *  - A module is loaded in four kinds of processes, never in the command itself: one that probes, one that
 *    checks options, the two or more workers of a session, and one that lists the leftovers of killed sessions.
 *    In each, one thread calls it, one call at a time; with IPCMARK_SAME_PROCESS one thread for each end, and
 *    the calls for different ends come at the same time. The library may start its own threads.
 *  - Two ends use a separate channel for each direction: an end never takes what it published.
 *  - A message arrives once, in order, whole, with its length. A full queue is WOULD_BLOCK, never a drop or an error.
 *  - No exception, longjmp or exit() leaves a function. Nothing is printed. The module's own code
 *    neither allocates nor reads a clock between open and close.
 *  - Strings are UTF-8 and end with a NUL byte; those of a description live as long as the process.
 *  - Every struct but the two of options begins with its size. Within one version, it grows only at its end:
 *    never read a field beyond the `size` of the struct that was passed, because it does not exist.
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

/* Incremented when modules built against an older header can no longer be used. */
#define IPCMARK_ABI_VERSION 1

/* The result of a function that returns int. */
enum ipcmark_result {
    IPCMARK_DONE = 0,        /* Done. */
    IPCMARK_WOULD_BLOCK = 1, /* Not possible yet: call again with the same arguments. */
    IPCMARK_FAILED = -1,     /* An error, which is filled in. The end can only be closed. */
    IPCMARK_PEER_GONE = -2   /* As FAILED, because the other process is gone. */
};
/* The wait of an end; bits in a description, exactly one of them in the settings. */
enum ipcmark_wait {
    IPCMARK_SPIN = 1,  /* loan, publish and take never sleep: they return WOULD_BLOCK. */
    IPCMARK_BLOCK = 2, /* They sleep in the kernel until done; they may return WOULD_BLOCK early.
                          With `wait` present, take never sleeps: ipcmark calls wait. */
    IPCMARK_HYBRID = 4 /* As BLOCK, but an end polls for a while before it sleeps. With `wait`
                          present, ipcmark polls take and then calls wait; otherwise take does both. */
};

/* The shape of the traffic; bits in a description: ONE_WAY and THROUGHPUT follow from LATENCY, FAN_IN from FAN_OUT. */
enum ipcmark_pattern {
    IPCMARK_LATENCY = 1,    /* One message out, one message back. */
    IPCMARK_ONE_WAY = 2,    /* Messages timed from one process to the other. */
    IPCMARK_THROUGHPUT = 4, /* Messages in one direction, as fast as possible. */
    IPCMARK_FAN_OUT = 8,    /* Every follower receives the leader's messages. */
    IPCMARK_FAN_IN = 16     /* The leader receives every follower's messages. */
};

/* Bits in a description. */
enum ipcmark_flag {
    IPCMARK_LOANS = 1,         /* The room on loan and the taken message are the same memory that the
                                  other end reads and writes: nothing is copied. */
    IPCMARK_CROSSES_HOSTS = 2, /* The ends can be on different hosts. */
    IPCMARK_UNRELIABLE = 4,    /* A message may be lost. No call sleeps longer than 10 ms. */
    IPCMARK_ALTERNATING = 8,   /* The ends must take turns: request, reply, request, ... */
    IPCMARK_NO_HOP = 16,       /* An end takes back its own messages (null only). */
    IPCMARK_SAME_PROCESS = 32, /* A message goes from thread to thread of one process. */
    IPCMARK_EXCLUSIVE = 64,    /* Without a sandbox, one session of its family at a time: they share names. */
    IPCMARK_IN_MEMORY = 128,   /* The declared carrier: memory that both processes map, */
    IPCMARK_ON_NETWORK = 256,  /* a network interface, */
    IPCMARK_IN_KERNEL = 512,   /* or a kernel buffer. If another one is found, the row is marked. */
    IPCMARK_ONE_END = 1024     /* A process can have only one end, because ends use a per-process resource. */
};

enum ipcmark_role { IPCMARK_LEADER = 0, IPCMARK_FOLLOWER = 1 };

/* A failure: "cannot {operation} {object}: {cause}; {remedy}". ipcmark clears it before an end's first call, and
 * passes it for one call; a call that fails fills all of it in, best with ipcmark_fail(), and keeps no pointer. */
struct ipcmark_error {
    uint32_t size;
    int32_t number;     /* An errno, or 0. */
    char operation[64]; /* "create" */
    char object[192];   /* "the message queue /x" */
    char cause[512];    /* The library's message; if empty, the text of `number`. */
    char remedy[256];   /* The remedy: a command, where there is one. May be "". */
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

/* Writes zeros into every page of fresh memory, so that the measured loop takes no page fault.
 * memset is not enough: compilers turn malloc and memset into calloc, which touches nothing. */
static inline void ipcmark_touch(void *memory, size_t len) {
    volatile unsigned char *bytes = (volatile unsigned char *)memory;
    for (size_t at = 0; at < len; at += 1024)
        bytes[at] = 0;
    if (len > 0)
        bytes[len - 1] = 0;
}

/* An option of a transport. */
struct ipcmark_option_spec {
    const char *key, *accepts;      /* Accepted values: words, numbers as 1..64k, FILE or DIR, with '|'. */
    const char *standard, *summary; /* The default; the effect, in one line. */
};

struct ipcmark_option {
    const char *key, *value; /* The value set, checked: numbers in plain digits, absolute paths. */
};

/* The settings of an end; all ends share them, except the role. Invalid after open returns. */
struct ipcmark_settings {
    uint32_t size;
    uint32_t role;         /* enum ipcmark_role */
    uint32_t follower;     /* A follower's number from 0; a leader's is 0. */
    uint32_t wait;         /* One bit of enum ipcmark_wait that the transport supports. */
    uint64_t payload;      /* The largest message in bytes. */
    uint32_t subscribers;  /* The number of followers. */
    uint32_t option_count; /* The number of options that the user has set. */
    const struct ipcmark_option *options;
    const char *name;      /* At most 40 letters, digits and '-', unique on the machine: the prefix of all names. */
    const char *directory; /* A directory of this session alone, for objects that need a path. */
    const char *address;   /* The address for ends on other hosts; NULL if all are on this one. */
    uint64_t connect_ns;   /* Nanoseconds, at least 1 ms, that this end may wait for the others while it opens. */
};

/* The channel to the other ends, valid only while this one opens. The leader has one peer for each
 * follower, with the same number; a follower has one, the leader, with the number 0. Frames arrive in
 * order, with at most 4096 bytes and 80 descriptors each. Call as session->send(session, ...).
 * The calls return DONE, or FAILED or PEER_GONE with the error filled in, which open may return. */
struct ipcmark_session {
    uint32_t size;
    uint32_t peers; /* The number of peers. */
    /* Sends a frame to a peer. The module keeps the bytes and descriptors. */
    int (*send)(struct ipcmark_session *session, uint32_t peer, const void *bytes, size_t len, const int *fds,
                size_t fd_count, struct ipcmark_error *error);
    /* Sleeps until a frame of a peer arrives. On entry *len and *fd_count are the room, on return the
     * amount received; a larger frame is an error. fds may be NULL if fd_count is NULL. The module
     * owns the descriptors, which close on exec. */
    int (*receive)(struct ipcmark_session *session, uint32_t peer, void *bytes, size_t *len, int *fds, size_t *fd_count,
                   struct ipcmark_error *error);
    /* Waits until every end has reached the same point. */
    int (*meet)(struct ipcmark_session *session, struct ipcmark_error *error);
    /* Writes a setting of the library into the result, copied: note(session, "pool", "16 x 4 MiB"). */
    void (*note)(struct ipcmark_session *session, const char *key, const char *value);
    /* Declares that messages may be lost with these options: as IPCMARK_UNRELIABLE, for this end. */
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
    uint32_t max_subscribers; /* The most followers of one leader: 1 or more. */
    uint32_t option_count;    /* The length of `options`. */
    const void *context;      /* Per-transport data, opaque to ipcmark. */

    /* Checks if it can run on this machine: DONE, or FAILED with a cause and, as remedy, the package to
     * install or the setting to change. Optional: without it, it can run where the module can be loaded.
     * Called in a separate process, outside the sandbox: be quick, start nothing, leave nothing. */
    int (*probe)(const struct ipcmark_transport *transport, struct ipcmark_error *error);

    /* Opens one end and stores it in *end: owned by the module, of any type. Called once per case in the leader and in
     * every follower, at the same time. Creates, fills and touches every buffer. It must not hang if another end fails:
     * only the session's functions may wait without a limit. All other waits for another end share `connect_ns`, which
     * is less than the user's --timeout; after it, open fails with an error that says what is missing.
     * DONE, FAILED or PEER_GONE; unless DONE, everything is undone and close is not called. */
    int (*open)(const struct ipcmark_transport *transport, const struct ipcmark_settings *settings,
                struct ipcmark_session *session, void **end, struct ipcmark_error *error);

    /* Hands a message of `len` bytes, 16 or more, over to the other end. `message` is the room of the last loan,
     * which the module owns again once DONE; without loan it is ipcmark's buffer: touched, page-aligned, the same
     * every time, and writable again once DONE. WOULD_BLOCK may leave part of the work done: the next call, with the
     * same arguments, continues there; a take may come in between. */
    int (*publish)(void *end, void *message, size_t len, struct ipcmark_error *error);

    /* Receives the next message in place: its address in *message and its length in *len. The module
     * owns it and keeps it unchanged until release, or without release until the next take or close.
     * One message is taken at a time; one may be on loan or partly published meanwhile. */
    int (*take)(void *end, const void **message, size_t *len, struct ipcmark_error *error);

    /* Releases everything, in any state: after an error, in the middle of a message, with the other process dead.
     * Never hangs. Leaves no file, queue, segment or child, except what a library starts once and needs. */
    void (*close)(void *end);

    /* Optional: gets room for one message of exactly `len` bytes, at most the payload of the settings,
     * with undefined content: the module owns *room, and the caller may write it until it calls
     * publish. One is on loan at a time; close takes it back. DONE, WOULD_BLOCK or an error. */
    int (*loan)(void *end, size_t len, void **room, struct ipcmark_error *error);

    /* Optional: gives back the room of the taken message. Never sleeps. DONE or an error. */
    int (*release)(void *end, const void *message, struct ipcmark_error *error);

    /* Optional, with BLOCK or HYBRID only: sleeps until take may find a message, at most `timeout_ns`. DONE, also if
     * unsure, WOULD_BLOCK after the timeout, or an error. A message since the last take makes it return at once. */
    int (*wait)(void *end, uint64_t timeout_ns, struct ipcmark_error *error);
    const struct ipcmark_option_spec *options; /* May be NULL. */
    /* Optional: checks that the options set are usable: the files that they name, and their combination.
     * Called in a separate process before anything is measured. DONE or FAILED. */
    int (*check)(const struct ipcmark_transport *transport, const struct ipcmark_option *options, uint32_t option_count,
                 struct ipcmark_error *error);
    uint64_t memory_limit; /* With IPCMARK_IN_MEMORY: the kernel carries larger messages; 0: no limit. */
};

/* A shared object that offers transports. */
struct ipcmark_module {
    uint32_t size;
    uint32_t abi_version; /* IPCMARK_ABI_VERSION; size and this are read first, in every version. */
    const char *family;   /* The family of the transports: "zeromq". Letters as in a name. */
    /* Optional: the version of the loaded library, called after probe: "4.3.4", valid for the
     * process's lifetime. */
    const char *(*library_version)(void);
    const struct ipcmark_transport *const *transports; /* transport_count addresses */
    uint32_t transport_count;
    uint32_t reserved;
    /* Optional: calls file(list, path) for each file directly in /dev/shm, /tmp or /var/tmp that killed
     * sessions may have left under the library's own names; ipcmark finds names that begin with a session's
     * name itself. It removes files that this user owns and no process has open. In a separate process. */
    int (*leftovers)(void (*file)(void *list, const char *path), void *list, struct ipcmark_error *error);
};

#define IPCMARK_EXPORT __attribute__((visibility("default")))
/* The only symbol of a module, called once: it only returns the address of a description that lives as
 * long as the process, does no work and cannot fail. In C++ write `struct` before its type's name. */
IPCMARK_EXPORT const struct ipcmark_module *ipcmark_module(void);

#ifdef __cplusplus
}
#endif
#endif
