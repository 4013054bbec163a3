/* Promises to poll and then to sleep, and has no function that sleeps. */
#define WAITS IPCMARK_HYBRID
#include "base.h"
