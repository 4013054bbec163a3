/* The blocks of a bare program: round trips between two probes of the distance between its two processes, in turns
 * with a pause before each, as ipcmark measures a row. A probe is a few round trips of one word on each of several
 * cache lines, in a file that both processes map.
 */
#ifndef IPCMARK_BARE_BLOCKS_H
#define IPCMARK_BARE_BLOCKS_H

#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    BARE_LINES = 8,
    BARE_LINE_STRIDE = 4096,
    BARE_FILE_BYTES = BARE_LINE_STRIDE * (BARE_LINES + 1),
    /* Round trips in which both processes arrive, and those that count on each line. */
    BARE_ARRIVAL = 8,
    BARE_CHUNK = 12,
    /* The bits of the step within a word; the number of the probe is above them. */
    BARE_STEP_BITS = 16,
    /* A probe that takes longer is given up by its leader, and by its follower. */
    BARE_PROBE_NS = 200000,
    BARE_NOBODY_COMES_NS = 20000000,
    BARE_POLLS_A_LOOK = 1024,
    BARE_POLLS_A_LOOK_FOR_THE_END = 32,
    BARE_PAUSE_NS = 200000,
    /* What the start of a program leaves to the kernel to free (RCU callbacks) is freed in this time. Until then the
     * processors keep their tick while they are idle, and wake up faster than later. */
    BARE_SETTLING_NS = 100000000,
    /* The blocks of a turn of about 5 ms. */
    BARE_SPINNING_TURN = 9,
    BARE_SLEEPING_TURN = 3
};

struct bare_floor {
    unsigned char *pages;
    uint64_t probe; /* The number of the last one. */
};

struct bare_block {
    uint64_t elapsed_ns, sleeps;
    double before_ns, after_ns;
};

static inline void bare_fail(const char *what) {
    fprintf(stderr, "bare: cannot %s\n", what);
    exit(1);
}

static inline uint64_t bare_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void bare_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* Times that this thread went to sleep. */
static inline uint64_t bare_sleeps(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (uint64_t)usage.ru_nvcsw;
}

static inline void bare_sleep(long ns) {
    const struct timespec time = {0, ns};
    nanosleep(&time, NULL);
}

static inline struct bare_floor bare_map(const char *file) {
    const int fd = open(file, O_RDWR | O_CLOEXEC);
    void *pages = MAP_FAILED;
    if (fd >= 0)
        pages = mmap(NULL, BARE_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (pages == MAP_FAILED)
        bare_fail("map the file for probes");
    close(fd);
    struct bare_floor floor = {(unsigned char *)pages, 0};
    return floor;
}

static inline uint64_t *bare_word(const struct bare_floor *floor, int line) {
    return (uint64_t *)(void *)(floor->pages + line * BARE_LINE_STRIDE);
}

static inline uint64_t bare_load(const uint64_t *word) {
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void bare_store(uint64_t *word, uint64_t value) {
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* Returns 0 if the time is up. */
static inline int bare_round_trips(uint64_t *word, uint64_t *step, int count, uint64_t deadline) {
    for (int n = 0; n < count; n++, *step += 2) {
        bare_store(word, *step);
        for (uint32_t polls = 1; bare_load(word) != *step + 1; polls++) {
            if (polls % BARE_POLLS_A_LOOK == 0 && bare_now() > deadline)
                return 0;
            bare_relax();
        }
    }
    return 1;
}

static inline int bare_compare_times(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static inline double bare_measure_chunks(const struct bare_floor *floor) {
    uint64_t step = (floor->probe << BARE_STEP_BITS) + 1, start = bare_now();
    const uint64_t deadline = start + BARE_PROBE_NS;
    double chunks[BARE_LINES];
    if (!bare_round_trips(bare_word(floor, 0), &step, BARE_ARRIVAL, deadline))
        return BARE_PROBE_NS;
    for (int line = 0; line < BARE_LINES; line++) {
        uint64_t *const word = bare_word(floor, line);
        if (!bare_round_trips(word, &step, 1, deadline))
            return BARE_PROBE_NS;
        start = bare_now();
        if (!bare_round_trips(word, &step, BARE_CHUNK, deadline))
            return BARE_PROBE_NS;
        chunks[line] = (double)(bare_now() - start) / BARE_CHUNK;
    }
    qsort(chunks, BARE_LINES, sizeof *chunks, bare_compare_times);
    return (chunks[BARE_LINES / 2 - 1] + chunks[BARE_LINES / 2]) / 2;
}

/* The leader's part of a probe: the floor's round trip in nanoseconds, BARE_PROBE_NS if the processors are apart. */
static inline double bare_measure(struct bare_floor *floor) {
    floor->probe++;
    const double measured = bare_measure_chunks(floor);
    bare_store(bare_word(floor, BARE_LINES), floor->probe);
    return measured;
}

/* Answers one step, and returns it; 0 if the probe is over, or nobody comes. */
static inline uint64_t bare_answer(const struct bare_floor *floor, int line, uint64_t expected, uint64_t deadline) {
    uint64_t *const word = bare_word(floor, line);
    for (uint32_t polls = 1;; polls++) {
        const uint64_t seen = bare_load(word);
        if (seen >= expected && seen % 2 == 1) {
            bare_store(word, seen + 1);
            return seen;
        }
        if (polls % BARE_POLLS_A_LOOK_FOR_THE_END == 0 &&
            bare_load(bare_word(floor, BARE_LINES)) >= expected >> BARE_STEP_BITS)
            return 0;
        if (polls % BARE_POLLS_A_LOOK == 0) {
            if (bare_now() > deadline)
                return 0;
            sched_yield(); /* A thread of the library may still have to deliver what the leader waits for. */
        }
        bare_relax();
    }
}

/* The follower's part of a probe. */
static inline void bare_reflect(struct bare_floor *floor) {
    const uint64_t deadline = bare_now() + BARE_NOBODY_COMES_NS;
    uint64_t step = (++floor->probe << BARE_STEP_BITS) + 1;
    for (int n = 0; n < BARE_ARRIVAL + BARE_LINES * (1 + BARE_CHUNK); n++, step += 2) {
        const int line = n < BARE_ARRIVAL ? 0 : (n - BARE_ARRIVAL) / (1 + BARE_CHUNK);
        if (bare_answer(floor, line, step, deadline) == 0)
            return;
    }
}

#endif
