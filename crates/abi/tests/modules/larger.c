/* Built against a header of the same version that has grown at its tail. */
#define TRANSPORT_SIZE (sizeof(struct ipcmark_transport) + 64)
#include "base.h"
