/* A bare program of UCX's tagged messages, with the calls of the library's own ucx_perftest, the baseline for ucx-shm,
 * ucx-tcp and ucx-cma. */
#include "bare_ucx.h"

enum { TAG = 1 };

static void *bare_open(const struct bare *bare) {
    struct bare_ucx *self = calloc(1, sizeof *self);
    bare_start(self, bare, UCP_FEATURE_TAG);
    bare_connect(self, bare);
    return self;
}

static void bare_send(void *end, const struct bare *bare, uint64_t number) {
    struct bare_ucx *self = end;
    const ucp_request_param_t plain = {0};
    bare_write(self->outgoing, number);
    bare_await(self, bare, ucp_tag_send_nbx(self->endpoint, self->outgoing, bare->payload, TAG, &plain));
}

static uint64_t bare_receive(void *end, const struct bare *bare) {
    struct bare_ucx *self = end;
    const ucp_request_param_t plain = {0};
    bare_await(self, bare, ucp_tag_recv_nbx(self->worker, self->incoming, bare->payload, TAG, UINT64_MAX, &plain));
    return bare_read(self->incoming);
}

static void bare_close(void *end) {
    bare_stop(end);
    free(end);
}

int main(int argc, char **argv) {
    return bare_main(argc, argv);
}
