/* Common code of the bare programs of UCX: a worker each, and the wait for a request. */
#ifndef IPCMARK_UCX_BARE_UCX_H
#define IPCMARK_UCX_BARE_UCX_H

#include "shared/c/bare.h"

#include <poll.h>

#include <ucp/api/ucp.h>

/* The common state of both kinds of messages. */
struct bare_ucx {
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_ep_h endpoint;
    int events;
    unsigned char *outgoing, *incoming;
};

static inline void bare_check(ucs_status_t status, const char *what) {
    if (status != UCS_OK)
        bare_fail(what);
}

/* Makes a worker for messages of one kind, UCP_FEATURE_TAG or UCP_FEATURE_AM. The build defines which LAYERS of UCX may
 * carry them, and over which network DEVICES. */
static inline void bare_start(struct bare_ucx *self, const struct bare *bare, uint64_t feature) {
    const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                                 .features = feature | (bare->spins ? 0 : UCP_FEATURE_WAKEUP)};
    const ucp_worker_params_t single = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                        .thread_mode = UCS_THREAD_MODE_SINGLE};
    setenv("UCX_TLS", LAYERS, 1);
#ifdef DEVICES
    setenv("UCX_NET_DEVICES", DEVICES, 1);
#endif
    bare_check(ucp_init(&params, NULL, &self->context), "make a context");
    bare_check(ucp_worker_create(self->context, &single, &self->worker), "make a worker");
    if (!bare->spins)
        bare_check(ucp_worker_get_efd(self->worker, &self->events), "get a descriptor");
}

/* Each process sends the other the address of its worker. Messages then use separate buffers. */
static inline void bare_connect(struct bare_ucx *self, const struct bare *bare) {
    ucp_address_t *own;
    size_t len, theirs_len;
    char theirs[4096];
    bare_check(ucp_worker_get_address(self->worker, &own, &len), "ask for an address");
    if (write(bare->peer, &len, sizeof len) != sizeof len || write(bare->peer, own, len) != (ssize_t)len ||
        read(bare->peer, &theirs_len, sizeof theirs_len) != sizeof theirs_len || theirs_len > sizeof theirs ||
        read(bare->peer, theirs, theirs_len) != (ssize_t)theirs_len)
        bare_fail("exchange addresses");
    ucp_worker_release_address(self->worker, own);
    const ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
                                    .address = (const ucp_address_t *)theirs};
    bare_check(ucp_ep_create(self->worker, &params, &self->endpoint), "connect");
    self->outgoing = aligned_alloc(4096, (bare->payload + 4095) / 4096 * 4096);
    self->incoming = aligned_alloc(4096, (bare->payload + 4095) / 4096 * 4096);
    memset(self->outgoing, 1, bare->payload);
    memset(self->incoming, 1, bare->payload);
}

static inline void bare_await_event(const struct bare_ucx *self) {
    struct pollfd event = {.fd = self->events, .events = POLLIN};
    if (ucp_worker_arm(self->worker) == UCS_OK)
        (void)poll(&event, 1, 1000);
}

static inline void bare_await(const struct bare_ucx *self, const struct bare *bare, ucs_status_ptr_t request) {
    if (!request)
        return;
    if (UCS_PTR_IS_ERR(request))
        bare_fail("send or receive by UCX");
    for (;;) {
        ucp_worker_progress(self->worker);
        if (ucp_request_check_status(request) != UCS_INPROGRESS)
            break;
        if (!bare->spins)
            bare_await_event(self);
    }
    ucp_request_free(request);
}

static inline void bare_stop(struct bare_ucx *self) {
    ucp_worker_destroy(self->worker);
    ucp_cleanup(self->context);
    free(self->outgoing);
    free(self->incoming);
}

#endif
