/* Right in every way, and slow: it sleeps a millisecond before it looks for a message. */
#define _GNU_SOURCE
#include <time.h>

#define BEFORE_TAKE(end) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL)
#include "base.h"
