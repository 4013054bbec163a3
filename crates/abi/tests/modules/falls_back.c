/* Declares shared memory but silently uses sockets. */
#define FLAGS IPCMARK_IN_MEMORY
#include "base.h"
