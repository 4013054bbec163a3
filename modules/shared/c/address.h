/* The addresses at which a leader's sockets listen, and their transfer to its followers. */
#ifndef IPCMARK_MODULES_ADDRESS_H
#define IPCMARK_MODULES_ADDRESS_H

#include <ipcmark/transport.h>

#include <string.h>

/* Writes "tcp://HOST:port" with the endpoint's own address, or the loopback interface's if all ends are on this
 * host. */
static inline void ipcmark_tcp_url(char *url, size_t size, const struct ipcmark_settings *settings, const char *port) {
    const char *host = settings->address ? settings->address : "127.0.0.1";
    const int is_v6 = strchr(host, ':') != NULL;
    snprintf(url, size, "tcp://%s%s%s:%s", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
}

#define IPCMARK_ADDRESS_BYTES 160

/* The addresses of the leader's sockets, in the order of the directions; "" if there is no second one. */
struct ipcmark_addresses {
    char there[IPCMARK_ADDRESS_BYTES], back[IPCMARK_ADDRESS_BYTES];
};

/* For the leader: sends them to every follower. */
static inline int ipcmark_send_addresses(struct ipcmark_session *session, const struct ipcmark_addresses *addresses,
                                         struct ipcmark_error *error) {
    int result = IPCMARK_DONE;
    for (uint32_t peer = 0; result == IPCMARK_DONE && peer < session->peers; peer++)
        result = session->send(session, peer, addresses, sizeof *addresses, NULL, 0, error);
    return result;
}

/* For a follower; `object` is the object to connect, for an error. */
static inline int ipcmark_receive_addresses(struct ipcmark_session *session, struct ipcmark_addresses *addresses,
                                            const char *object, struct ipcmark_error *error) {
    size_t len = sizeof *addresses, none = 0;
    const int result = session->receive(session, 0, addresses, &len, NULL, &none, error);
    if (result != IPCMARK_DONE)
        return result;
    if (len != sizeof *addresses)
        return ipcmark_fail(error, "connect", object, "the leader sent no addresses", NULL);
    addresses->there[IPCMARK_ADDRESS_BYTES - 1] = addresses->back[IPCMARK_ADDRESS_BYTES - 1] = '\0';
    return IPCMARK_DONE;
}

#endif
