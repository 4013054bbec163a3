/* Correct but slow: it sleeps a millisecond before each take. */
#define _GNU_SOURCE
#include <time.h>

#define BEFORE_TAKE(end) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL)
#include "base.h"
