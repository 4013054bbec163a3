/* Where an end listens that can be reached over TCP. */
#ifndef IPCMARK_MODULES_ADDRESS_H
#define IPCMARK_MODULES_ADDRESS_H

#include <ipcmark/transport.h>

#include <string.h>

/* "tcp://HOST:port": the end's own address, or the loopback interface's where all are on this host. */
static inline void ipcmark_host_address(char *text, size_t size, const struct ipcmark_settings *settings,
                                        const char *port) {
    const char *host = settings->address ? settings->address : "127.0.0.1";
    const int is_v6 = strchr(host, ':') != NULL;
    snprintf(text, size, "tcp://%s%s%s:%s", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
}

#endif
