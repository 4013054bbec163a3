/* Its description lacks the last field. */
#define TRANSPORT_SIZE (sizeof(struct ipcmark_transport) - sizeof(void *))
#include "base.h"
