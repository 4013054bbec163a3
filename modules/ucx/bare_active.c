/* A bare program of UCX's active messages, the baseline for ucx-am-shm. */
#include "bare_ucx.h"

enum { MESSAGE = 1 };

struct end {
    struct bare_ucx ucx;
    void *data; /* A message that arrived, or the descriptor for fetching it. */
    size_t len;
    int is_announced;
};

/* The library calls it for each message. */
static ucs_status_t bare_keep(void *end, const void *header, size_t header_len, void *data, size_t len,
                              const ucp_am_recv_param_t *param) {
    struct end *self = end;
    (void)header, (void)header_len;
    self->data = data, self->len = len;
    self->is_announced = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    return UCS_INPROGRESS;
}

static void *bare_open(const struct bare *bare) {
    struct end *self = calloc(1, sizeof *self);
    bare_start(&self->ucx, bare, UCP_FEATURE_AM);
    const ucp_am_handler_param_t receiver = {.field_mask =
                                                 UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                                                 UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
                                             .id = MESSAGE,
                                             .flags = UCP_AM_FLAG_WHOLE_MSG | UCP_AM_FLAG_PERSISTENT_DATA,
                                             .cb = bare_keep,
                                             .arg = self};
    bare_check(ucp_worker_set_am_recv_handler(self->ucx.worker, &receiver), "set a receiver");
    bare_connect(&self->ucx, bare);
    return self;
}

static void bare_send(void *end, const struct bare *bare, uint64_t number) {
    struct end *self = end;
    const ucp_request_param_t plain = {0};
    bare_write(self->ucx.outgoing, number);
    bare_await(&self->ucx, bare,
               ucp_am_send_nbx(self->ucx.endpoint, MESSAGE, NULL, 0, self->ucx.outgoing, bare->payload, &plain));
}

static uint64_t bare_receive(void *end, const struct bare *bare) {
    struct end *self = end;
    const ucp_request_param_t plain = {0};
    while (ucp_worker_progress(self->ucx.worker), !self->data)
        if (!bare->spins)
            bare_await_event(&self->ucx);
    if (self->len != bare->payload)
        bare_fail("receive a whole message");
    void *const data = self->data;
    self->data = NULL;
    if (self->is_announced)
        bare_await(&self->ucx, bare,
                   ucp_am_recv_data_nbx(self->ucx.worker, data, self->ucx.incoming, bare->payload, &plain));
    const uint64_t number = bare_read(self->is_announced ? self->ucx.incoming : data);
    if (!self->is_announced)
        ucp_am_data_release(self->ucx.worker, data);
    return number;
}

static void bare_close(void *end) {
    struct end *self = end;
    bare_stop(&self->ucx);
    free(self);
}

int main(int argc, char **argv) {
    return bare_main(argc, argv);
}
