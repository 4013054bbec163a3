/* A bare program of UCX's active messages, to compare ucx-am-shm with. */
#include "shared/c/bare.h"

#include <poll.h>

#include <ucp/api/ucp.h>

enum { MESSAGE = 1 };

struct end {
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_ep_h endpoint;
    int events;
    unsigned char *outgoing, *incoming;
    void *data; /* A message that came, or what it is fetched by. */
    size_t len;
    int is_announced;
};

static void bare_check(ucs_status_t status, const char *what) {
    if (status != UCS_OK)
        bare_fail(what);
}

/* The library calls it for each message. */
static ucs_status_t bare_keep(void *end, const void *header, size_t header_len, void *data, size_t len,
                              const ucp_am_recv_param_t *param) {
    struct end *self = end;
    (void)header, (void)header_len;
    self->data = data, self->len = len;
    self->is_announced = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    return UCS_INPROGRESS;
}

/* Each tells the other one the address of its worker. */
static void bare_connect(struct end *self, const struct bare *bare) {
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
}

static void *bare_open(const struct bare *bare) {
    struct end *self = calloc(1, sizeof *self);
    const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                                 .features = UCP_FEATURE_AM | (bare->spins ? 0 : UCP_FEATURE_WAKEUP)};
    const ucp_worker_params_t single = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                        .thread_mode = UCS_THREAD_MODE_SINGLE};
    setenv("UCX_TLS", "posix,self", 1);
    bare_check(ucp_init(&params, NULL, &self->context), "make a context");
    bare_check(ucp_worker_create(self->context, &single, &self->worker), "make a worker");
    if (!bare->spins)
        bare_check(ucp_worker_get_efd(self->worker, &self->events), "get a descriptor");
    const ucp_am_handler_param_t receiver = {.field_mask =
                                                 UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                                                 UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
                                             .id = MESSAGE,
                                             .flags = UCP_AM_FLAG_WHOLE_MSG | UCP_AM_FLAG_PERSISTENT_DATA,
                                             .cb = bare_keep,
                                             .arg = self};
    bare_check(ucp_worker_set_am_recv_handler(self->worker, &receiver), "set a receiver");
    bare_connect(self, bare);
    self->outgoing = aligned_alloc(4096, (bare->payload + 4095) / 4096 * 4096);
    self->incoming = aligned_alloc(4096, (bare->payload + 4095) / 4096 * 4096);
    memset(self->outgoing, 1, bare->payload);
    memset(self->incoming, 1, bare->payload);
    return self;
}

static void bare_sleep(const struct end *self) {
    struct pollfd event = {.fd = self->events, .events = POLLIN};
    if (ucp_worker_arm(self->worker) == UCS_OK)
        (void)poll(&event, 1, 1000);
}

static void bare_await(const struct end *self, const struct bare *bare, ucs_status_ptr_t request) {
    if (!request)
        return;
    if (UCS_PTR_IS_ERR(request))
        bare_fail("send or receive by UCX");
    for (;;) {
        ucp_worker_progress(self->worker);
        if (ucp_request_check_status(request) != UCS_INPROGRESS)
            break;
        if (!bare->spins)
            bare_sleep(self);
    }
    ucp_request_free(request);
}

static void bare_send(void *end, const struct bare *bare, uint64_t number) {
    struct end *self = end;
    const ucp_request_param_t plain = {0};
    bare_write(self->outgoing, number);
    bare_await(self, bare, ucp_am_send_nbx(self->endpoint, MESSAGE, NULL, 0, self->outgoing, bare->payload, &plain));
}

static uint64_t bare_receive(void *end, const struct bare *bare) {
    struct end *self = end;
    const ucp_request_param_t plain = {0};
    while (ucp_worker_progress(self->worker), !self->data)
        if (!bare->spins)
            bare_sleep(self);
    if (self->len != bare->payload)
        bare_fail("receive a whole message");
    void *const data = self->data;
    self->data = NULL;
    if (self->is_announced)
        bare_await(self, bare, ucp_am_recv_data_nbx(self->worker, data, self->incoming, bare->payload, &plain));
    const uint64_t number = bare_read(self->is_announced ? self->incoming : data);
    if (!self->is_announced)
        ucp_am_data_release(self->worker, data);
    return number;
}

static void bare_close(void *end) {
    struct end *self = end;
    ucp_worker_destroy(self->worker);
    ucp_cleanup(self->context);
    free(self->outgoing);
    free(self->incoming);
    free(self);
}

int main(int argc, char **argv) {
    return bare_main(argc, argv);
}
