/* The URL at which an end listens for TCP connections. */
#ifndef IPCMARK_MODULES_ADDRESS_H
#define IPCMARK_MODULES_ADDRESS_H

#include <ipcmark/transport.h>

#include <string.h>

/* Writes "tcp://HOST:port" with the end's own address, or the loopback interface's if all ends are on this host. */
static inline void ipcmark_tcp_url(char *url, size_t size, const struct ipcmark_settings *settings, const char *port) {
    const char *host = settings->address ? settings->address : "127.0.0.1";
    const int is_v6 = strchr(host, ':') != NULL;
    snprintf(url, size, "tcp://%s%s%s:%s", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
}

#endif
