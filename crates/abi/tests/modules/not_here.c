/* Is unavailable on this machine and gives a remedy. */
#define PROBE probe
#include <ipcmark/transport.h>
static int probe(const struct ipcmark_transport *transport, struct ipcmark_error *error) {
    (void)transport;
    return ipcmark_fail(error, "find", "the daemon testd", "it is not installed", "apt install testd");
}
#include "base.h"
