/* A bare program of libfabric's tagged messages by its provider shm, with the calls of the library's own
 * fi_rdm_tagged_pingpong, the baseline for libfabric-shm. */
#include "shared/c/bare.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

enum { TAG = 1 };

struct end {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *addresses;
    struct fid_cq *completions;
    struct fid_ep *endpoint;
    fi_addr_t peer;
    unsigned char *outgoing, *incoming;
};

static void bare_check(ssize_t status, const char *what) {
    if (status != 0)
        bare_fail(what);
}

static void bare_find(struct end *self, const struct bare *bare) {
    struct fi_info *hints = fi_allocinfo();
    char name[64];
    snprintf(name, sizeof name, "%s-%d", bare->name, bare->leads);
    hints->caps = FI_TAGGED;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->fabric_attr->prov_name = strdup("shm");
    bare_check(fi_getinfo(FI_VERSION(1, 17), NULL, name, FI_SOURCE, hints, &self->info), "find the provider");
    fi_freeinfo(hints);
}

static void bare_make(struct end *self) {
    struct fi_av_attr table = {0};
    struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_NONE};
    bare_check(fi_fabric(self->info->fabric_attr, &self->fabric, NULL), "open a fabric");
    bare_check(fi_domain(self->fabric, self->info, &self->domain, NULL), "open a domain");
    bare_check(fi_av_open(self->domain, &table, &self->addresses, NULL), "make a table of addresses");
    bare_check(fi_cq_open(self->domain, &queue, &self->completions, NULL), "make a queue");
    bare_check(fi_endpoint(self->domain, self->info, &self->endpoint, NULL), "make an endpoint");
    bare_check(fi_ep_bind(self->endpoint, &self->addresses->fid, 0), "bind");
    bare_check(fi_ep_bind(self->endpoint, &self->completions->fid, FI_TRANSMIT | FI_RECV), "bind");
    bare_check(fi_enable(self->endpoint), "enable an endpoint");
}

static void *bare_open(const struct bare *bare) {
    struct end *self = calloc(1, sizeof *self);
    char name[512] = {0}, theirs[512] = {0};
    size_t len = sizeof name;
    setenv("FI_PROVIDER", "shm", 1);
    bare_find(self, bare);
    bare_make(self);
    bare_check(fi_getname(&self->endpoint->fid, name, &len), "ask for a name");
    if (write(bare->peer, name, sizeof name) != sizeof name ||
        recv(bare->peer, theirs, sizeof theirs, MSG_WAITALL) != sizeof theirs)
        bare_fail("exchange names");
    bare_check(fi_av_insert(self->addresses, theirs, 1, &self->peer, 0, NULL) - 1, "connect");
    self->outgoing = aligned_alloc(4096, (bare->payload + 4095) / 4096 * 4096);
    self->incoming = aligned_alloc(4096, (bare->payload + 4095) / 4096 * 4096);
    memset(self->outgoing, 1, bare->payload);
    memset(self->incoming, 1, bare->payload);
    return self;
}

static void bare_complete(struct end *self) {
    struct fi_cq_tagged_entry entry;
    ssize_t count = 0;
    while ((count = fi_cq_read(self->completions, &entry, 1)) == -FI_EAGAIN) {
    }
    if (count != 1)
        bare_fail("complete a message");
}

static void bare_send(void *end, const struct bare *bare, uint64_t number) {
    struct end *self = end;
    const int is_small = bare->payload <= self->info->tx_attr->inject_size;
    struct fi_cq_tagged_entry entry;
    ssize_t status = 0;
    bare_write(self->outgoing, number);
    do {
        status = is_small ? fi_tinject(self->endpoint, self->outgoing, bare->payload, self->peer, TAG)
                          : fi_tsend(self->endpoint, self->outgoing, bare->payload, NULL, self->peer, TAG, NULL);
        if (status == -FI_EAGAIN)
            (void)fi_cq_read(self->completions, &entry, 0);
    } while (status == -FI_EAGAIN);
    bare_check(status, "send");
    if (!is_small)
        bare_complete(self);
}

static uint64_t bare_receive(void *end, const struct bare *bare) {
    struct end *self = end;
    bare_check(fi_trecv(self->endpoint, self->incoming, bare->payload, NULL, FI_ADDR_UNSPEC, TAG, 0, NULL), "receive");
    bare_complete(self);
    return bare_read(self->incoming);
}

static void bare_close(void *end) {
    struct end *self = end;
    fi_close(&self->endpoint->fid);
    fi_close(&self->completions->fid);
    fi_close(&self->addresses->fid);
    fi_close(&self->domain->fid);
    fi_close(&self->fabric->fid);
    fi_freeinfo(self->info);
    free(self->outgoing);
    free(self->incoming);
    free(self);
}

int main(int argc, char **argv) {
    return bare_main(argc, argv);
}
