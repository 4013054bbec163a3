/* A bare program for the overhead benchmark: what a programmer would write to measure one library
 * without ipcmark. The program includes this, defines the four functions below, and calls bare_main().
 * It is started as
 *
 *   bare-NAME spin|block PAYLOAD ROUND_TRIPS BLOCKS LEADER_CPU FOLLOWER_CPU FILE
 *
 * and prints a line for each block of so many round trips: its time in nanoseconds, the floor's round trip before and
 * after it, and how often the leader went to sleep. FILE has BARE_FILE_BYTES of zeros. Only the measuring thread is
 * pinned, after the library has started its own threads.
 */
#ifndef IPCMARK_BARE_H
#define IPCMARK_BARE_H

#include "shared/c/bare_blocks.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* The time limit for the two processes to find each other, even on a busy machine. */
enum { BARE_CONNECTS_WITHIN_S = 60 };

struct bare {
    int leads;
    int spins;
    size_t payload;
    char name[32]; /* The same in both processes, and different from all others. */
    int peer;      /* A socket to the other process, for bare_meet(). */
    uint64_t round_trips, blocks;
    int cpus[2];
    const char *file;
};

/* Opens an endpoint, of any type that the program chooses. */
static void *bare_open(const struct bare *bare);
/* Sends a message of the whole payload that begins with the head of `number`. */
static void bare_send(void *end, const struct bare *bare, uint64_t number);
/* Receives the next message and returns the number in its head. */
static uint64_t bare_receive(void *end, const struct bare *bare);
static void bare_close(void *end);

/* The 16 bytes of a message that are written and read, as many as with `--touch head`: they may lie in two cache
 * lines. */
struct bare_head {
    uint64_t number, again;
};

static inline void bare_write(void *room, uint64_t number) {
    const struct bare_head head = {number, number};
    memcpy(room, &head, sizeof head);
}

static inline uint64_t bare_read(const void *message) {
    struct bare_head head;
    memcpy(&head, message, sizeof head);
    if (head.again != head.number)
        bare_fail("read what was written");
    return head.number;
}

/* Waits until the other process has reached the same point. */
static inline void bare_meet(const struct bare *bare) {
    char byte = 0;
    if (write(bare->peer, &byte, 1) != 1 || read(bare->peer, &byte, 1) != 1)
        bare_fail("meet the other process");
}

/* The leader makes a pair of sockets and sends one to the other process, over the socket of bare_meet(), which is not
 * used meanwhile. */
static inline int bare_exchange_socket(const struct bare *bare) {
    int pair[2], fd = -1;
    char control[CMSG_SPACE(sizeof fd)], byte = 0;
    struct iovec bytes = {&byte, 1};
    struct msghdr frame;
    memset(&frame, 0, sizeof frame), memset(control, 0, sizeof control);
    frame.msg_iov = &bytes, frame.msg_iovlen = 1, frame.msg_control = control, frame.msg_controllen = sizeof control;
    if (!bare->leads) {
        if (recvmsg(bare->peer, &frame, MSG_CMSG_CLOEXEC) != 1 || frame.msg_controllen < sizeof control)
            bare_fail("receive a socket");
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&frame)), sizeof fd);
        return fd;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        bare_fail("make a pair of sockets");
    struct cmsghdr *const head = CMSG_FIRSTHDR(&frame);
    head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS, head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &pair[1], sizeof fd);
    if (sendmsg(bare->peer, &frame, 0) != 1)
        bare_fail("send a socket");
    close(pair[1]);
    return pair[0];
}

static inline void bare_pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        bare_fail("pin the process");
}

/* Round trips, or the answers to them. */
static inline void bare_exchange(void *end, const struct bare *bare, uint64_t *number, uint64_t count) {
    const uint64_t until = *number + count;
    if (!bare->leads) {
        for (; *number < until; ++*number)
            bare_send(end, bare, bare_receive(end, bare));
        return;
    }
    for (; *number < until; ++*number) {
        bare_send(end, bare, *number);
        if (bare_receive(end, bare) != *number)
            bare_fail("get back what was sent");
    }
}

static inline double bare_probe(const struct bare *bare, struct bare_floor *floor) {
    if (bare->leads)
        return bare_measure(floor);
    bare_reflect(floor);
    return 0;
}

static inline void bare_print(const struct bare_block *block) {
    printf("%llu %.1f %.1f %llu\n", (unsigned long long)block->elapsed_ns, block->before_ns, block->after_ns,
           (unsigned long long)block->sleeps);
}

/* What both processes do with their ends: some round trips to warm up, and the blocks. */
static inline void bare_measure_blocks(void *end, const struct bare *bare) {
    const uint64_t turn = bare->spins ? BARE_SPINNING_TURN : BARE_SLEEPING_TURN;
    const uint64_t few = bare->round_trips / 20 < 1 ? 1 : bare->round_trips / 20 > 16 ? 16 : bare->round_trips / 20;
    struct bare_floor floor = bare_map(bare->file);
    struct bare_block *blocks = (struct bare_block *)calloc(bare->blocks + 1, sizeof *blocks);
    if (!blocks)
        bare_fail("allocate memory");
    uint64_t number = 0;
    double before = 0;
    bare_exchange(end, bare, &number, turn * bare->round_trips);
    if (!bare->spins)
        bare_sleep(BARE_SETTLING_NS);
    for (uint64_t at = 0; at < bare->blocks; at++) {
        if (at % turn == 0) {
            bare_sleep(BARE_PAUSE_NS);
            bare_exchange(end, bare, &number, 1);
            before = bare_probe(bare, &floor);
        }
        bare_exchange(end, bare, &number, few);
        const uint64_t sleeps = bare_sleeps(), start = bare_now();
        bare_exchange(end, bare, &number, bare->round_trips);
        const uint64_t elapsed = bare_now() - start, slept = bare_sleeps() - sleeps;
        const double after = bare_probe(bare, &floor);
        const struct bare_block block = {elapsed, slept, before, after};
        blocks[at] = block;
        before = after;
    }
    for (uint64_t at = 0; bare->leads && at < bare->blocks; at++)
        bare_print(&blocks[at]);
    free(blocks);
}

static inline int bare_play(struct bare *bare) {
    void *end = bare_open(bare);
    bare_pin(bare->cpus[!bare->leads]);
    bare_meet(bare);
    bare_measure_blocks(end, bare);
    bare_meet(bare);
    bare_close(end);
    return 0;
}

static inline struct bare bare_read_arguments(int argc, char **argv) {
    struct bare bare;
    if (argc != 8) {
        fprintf(stderr, "usage: %s spin|block PAYLOAD ROUND_TRIPS BLOCKS LEADER_CPU FOLLOWER_CPU FILE\n", argv[0]);
        exit(2);
    }
    memset(&bare, 0, sizeof bare);
    bare.spins = strcmp(argv[1], "spin") == 0;
    bare.payload = strtoull(argv[2], NULL, 10);
    bare.round_trips = strtoull(argv[3], NULL, 10);
    bare.blocks = strtoull(argv[4], NULL, 10);
    bare.cpus[0] = atoi(argv[5]), bare.cpus[1] = atoi(argv[6]);
    bare.file = argv[7];
    return bare;
}

static inline int bare_main(int argc, char **argv) {
    struct bare bare = bare_read_arguments(argc, argv);
    snprintf(bare.name, sizeof bare.name, "ipcmark-bare-%d", (int)getpid());
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        bare_fail("make a socket pair");
    const pid_t follower = fork();
    if (follower < 0)
        bare_fail("fork");
    bare.leads = follower != 0;
    bare.peer = pair[bare.leads];
    close(pair[!bare.leads]);
    if (!bare.leads) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return bare_play(&bare);
    }
    int status = bare_play(&bare), ended = 0;
    waitpid(follower, &ended, 0);
    return status ? status : ended != 0;
}

#endif
