/* A bare program for the overhead benchmark: what a programmer would write to measure one library
 * without ipcmark. The program includes this, defines the four functions below, and calls bare_main().
 * It is started as
 *
 *   bare-NAME spin|block PAYLOAD ROUND_TRIPS LEADER_CPU FOLLOWER_CPU
 *
 * and prints the median round trip in nanoseconds. It reads the clock once per round trip, as ipcmark does; only the
 * measuring thread is pinned, after the library has started its own threads.
 */
#ifndef IPCMARK_BARE_H
#define IPCMARK_BARE_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The time limit for the two processes to find each other, even on a busy machine. */
enum { BARE_CONNECTS_WITHIN_S = 60 };

struct bare {
    int leads;
    int spins;
    size_t payload;
    char name[32]; /* The same in both processes, and different from all others. */
    int peer;      /* A socket to the other process, for bare_meet(). */
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

static inline void bare_fail(const char *what) {
    fprintf(stderr, "bare: cannot %s\n", what);
    exit(1);
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

static inline uint64_t bare_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void bare_pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        bare_fail("pin the process");
}

static inline int bare_compare(const void *left, const void *right) {
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static inline void bare_lead(void *end, const struct bare *bare, uint64_t warm_up, uint64_t count) {
    uint64_t *times = (uint64_t *)malloc(count * sizeof *times);
    if (!times)
        bare_fail("allocate memory");
    memset(times, 1, count * sizeof *times);
    uint64_t before = bare_now();
    for (uint64_t n = 0; n < warm_up + count; n++) {
        bare_send(end, bare, n);
        if (bare_receive(end, bare) != n)
            bare_fail("get back what was sent");
        const uint64_t now = bare_now();
        if (n >= warm_up)
            times[n - warm_up] = now - before;
        before = now;
    }
    qsort(times, count, sizeof *times, bare_compare);
    printf("%llu\n", (unsigned long long)times[count / 2]);
    free(times);
}

static inline void bare_follow(void *end, const struct bare *bare, uint64_t count) {
    for (uint64_t n = 0; n < count; n++)
        bare_send(end, bare, bare_receive(end, bare));
}

static inline int bare_play(struct bare *bare, int cpu, uint64_t count) {
    const uint64_t warm_up = count / 4 + 1;
    void *end = bare_open(bare);
    bare_pin(cpu);
    bare_meet(bare);
    if (bare->leads)
        bare_lead(end, bare, warm_up, count);
    else
        bare_follow(end, bare, warm_up + count);
    bare_meet(bare);
    bare_close(end);
    return 0;
}

static inline int bare_main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: %s spin|block PAYLOAD ROUND_TRIPS LEADER_CPU FOLLOWER_CPU\n", argv[0]);
        return 2;
    }
    struct bare bare;
    bare.spins = strcmp(argv[1], "spin") == 0;
    bare.payload = strtoull(argv[2], NULL, 10);
    snprintf(bare.name, sizeof bare.name, "ipcmark-bare-%d", (int)getpid());
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        bare_fail("make a socket pair");
    const uint64_t count = strtoull(argv[3], NULL, 10);
    const pid_t follower = fork();
    if (follower < 0)
        bare_fail("fork");
    bare.leads = follower != 0;
    bare.peer = pair[bare.leads];
    close(pair[!bare.leads]);
    if (!bare.leads) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return bare_play(&bare, atoi(argv[5]), count);
    }
    int status = bare_play(&bare, atoi(argv[4]), count), ended = 0;
    waitpid(follower, &ended, 0);
    return status ? status : ended != 0;
}

#endif
