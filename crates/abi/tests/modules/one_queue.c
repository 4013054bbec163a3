/* The mistake that makes a benchmark worthless: one queue for both directions, from which a process
 * takes back its own message. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>
static int connect_queue(int leader[2], int follower[2]) {
    /* A pipe in packet mode, with both its ends in both processes. */
    if (pipe2(leader, O_DIRECT | O_NONBLOCK | O_CLOEXEC) != 0)
        return -1;
    follower[0] = dup(leader[0]);
    follower[1] = dup(leader[1]);
    return 0;
}
#define CONNECT connect_queue
#include "base.h"
