/* Its library promises shared memory and quietly takes sockets. */
#define FLAGS IPCMARK_IN_MEMORY
#include "base.h"
