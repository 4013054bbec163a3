// ucx-shm, ucx-tcp, ucx-cma: tagged messages of UCX between two processes; ucx-am-shm: active messages.
//
// - Mechanism: ucp_tag_send_nbx and ucp_tag_recv_nbx, each with ucp_worker_progress until it is done. A worker of the
//   library in each process; no thread of the library moves messages. Active messages: active.cpp.
// - Kernel objects: shared memory of each worker, whose name is removed at once, or System V segments, which are marked
//   for removal; under `block` also Unix datagram sockets. Or TCP connections. A sleeping thread of the library.
// - Copies a message: two, into a queue or a buffer of the library and out of it; those of the kernel over TCP; one, by
//   process_vm_readv(2), for large ones with CMA.
// - Blocks: in poll(2) for the descriptor of an armed worker; a sender also in flow control, for 10 ms at most.
// - Limits: two ends on one host. The library works only within its calls.
#include "active.hpp"
#include "endpoint.hpp"

#include "shared/cpp/description.hpp"
#include "shared/cpp/failure.hpp"

#include <filesystem>
#include <memory>
#include <new>
#include <string>

#include <sys/uio.h>
#include <unistd.h>

namespace ucx {

namespace {

constexpr const char *CMA_REMEDY = "allow it: docs/transports/cma.md says what keeps a process from it";

#define RNDV_THRESH \
    {"rndv-thresh", "0..64M", "UCX's own", "bytes from which on a message is announced first (UCX_RNDV_THRESH)"}

const ipcmark_option_spec SHM_OPTIONS[] = {
    {"memory", "posix|sysv", "posix", "whose shared memory UCX takes"},
    RNDV_THRESH,
};
const ipcmark_option_spec OPTIONS[] = {RNDV_THRESH};

// Set-up and teardown ----------------------------------------------------------------------------

int open_end(const ipcmark_transport *transport, const ipcmark_settings *settings, ipcmark_session *session,
             void **opened, ipcmark_error *error) {
    const auto &way = *static_cast<const Way *>(transport->context);
    std::unique_ptr<End> end(new (std::nothrow) End);
    if (!end)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", nullptr);
    const int result = end->open(way, *settings, session, error);
    if (result == IPCMARK_DONE)
        *opened = end.release();
    return result;
}

void close_end(void *end) {
    delete static_cast<End *>(end);
}

// The hot path -----------------------------------------------------------------------------------

int publish(void *end, void *message, size_t len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    const auto begin = [&] {
        const ucp_request_param_t plain{};
        return ucp_tag_send_nbx(self.connection.endpoint, message, len, TAG, &plain);
    };
    return publish_by(begin, self, error);
}

int deliver(End &self, ucs_status_t status, size_t length, const void **message, size_t *len, ipcmark_error *error) {
    if (status != UCS_OK)
        return fail(error, "receive", "a message of UCX", status);
    self.connection.flow.count_released();
    *message = self.message;
    *len = length;
    return IPCMARK_DONE;
}

int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    ucp_tag_recv_info_t info{};
    if (!self.receiving) {
        // A message that has already arrived also needs a request, because UCX 1.13 gives no length without one.
        ucp_request_param_t params{};
        params.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
        const auto request = ucp_tag_recv_nbx(self.connection.worker, self.message, self.room, TAG, WHOLE_TAG, &params);
        if (UCS_PTR_IS_ERR(request))
            return fail(error, "receive", "a message of UCX", UCS_PTR_STATUS(request));
        self.receiving = request;
    }
    self.connection.progress();
    const auto status = ucp_tag_recv_request_test(self.receiving, &info);
    if (status == UCS_INPROGRESS)
        return IPCMARK_WOULD_BLOCK;
    ucp_request_free(self.receiving);
    self.receiving = nullptr;
    return deliver(self, status, info.length, message, len, error);
}

int wait(void *end, uint64_t timeout_ns, ipcmark_error *error) {
    return static_cast<End *>(end)->connection.sleep(timeout_ns, error);
}

// If the kernel refuses the call altogether, UCX silently works without it.
int probe_cma(const ipcmark_transport *, ipcmark_error *error) {
    char from = 0, to = 0;
    const iovec source = {&from, 1}, target = {&to, 1};
    if (process_vm_readv(getpid(), &target, 1, &source, 1, 0) == 1)
        return IPCMARK_DONE;
    return ipcmark_fail(error, "use", "process_vm_readv", "the system refuses it, as docs/transports/cma.md says",
                        nullptr);
}

// The definition ---------------------------------------------------------------------------------

const char *library_version() {
    return ucp_get_version_string();
}

// The file of a process that was killed before it removed the name.
int name_leftovers(void (*file)(void *list, const char *path), void *list, ipcmark_error *error) {
    return ipcmark::guarded(error, "/dev/shm", [&] {
        for (const auto &entry : std::filesystem::directory_iterator("/dev/shm"))
            if (entry.path().filename().string().rfind("ucx_shm_posix_", 0) == 0)
                file(list, entry.path().c_str());
    });
}

ipcmark_transport describe(const char *name, const char *summary, const Way &way, uint32_t carrier) {
    auto transport = ipcmark::describe_transport(name, summary, IPCMARK_SPIN | IPCMARK_BLOCK | IPCMARK_HYBRID, carrier);
    transport.context = &way;
    transport.open = open_end;
    transport.publish = publish;
    transport.take = take;
    transport.wait = wait;
    transport.close = close_end;
    return transport;
}

const Way SHM = {nullptr, nullptr, nullptr, nullptr, false, false};
const Way TCP = {"tcp,self", "lo", "tcp/lo", nullptr, true, false};
const Way CMA = {"posix,cma,self", nullptr, "cma/memory", CMA_REMEDY, false, false};
const Way ACTIVE_SHM = {nullptr, nullptr, nullptr, nullptr, false, true};

ipcmark_transport describe_shm() {
    auto transport =
        describe("ucx-shm", "tagged messages of UCX through its POSIX or System V shared memory, two copies", SHM,
                 IPCMARK_IN_MEMORY);
    ipcmark::set_options(transport, SHM_OPTIONS);
    return transport;
}

ipcmark_transport describe_tcp() {
    auto transport = describe(
        "ucx-tcp", "tagged messages of UCX over TCP on the loopback interface, two copies and those of the kernel", TCP,
        IPCMARK_ON_NETWORK);
    ipcmark::set_options(transport, OPTIONS);
    return transport;
}

ipcmark_transport describe_cma() {
    auto transport = describe(
        "ucx-cma", "tagged messages of UCX, large ones by process_vm_readv in one copy, small ones in shared memory",
        CMA, IPCMARK_IN_MEMORY);
    ipcmark::set_options(transport, OPTIONS);
    transport.probe = probe_cma;
    return transport;
}

ipcmark_transport describe_active() {
    auto transport = describe(
        "ucx-am-shm", "active messages of UCX through its POSIX or System V shared memory, one copy of small ones",
        ACTIVE_SHM, IPCMARK_IN_MEMORY);
    ipcmark::set_options(transport, SHM_OPTIONS);
    transport.open = open_active;
    transport.publish = publish_active;
    transport.take = take_active;
    transport.release = release_active;
    transport.wait = wait_active;
    transport.close = close_active;
    return transport;
}

const ipcmark_transport shm = describe_shm(), tcp = describe_tcp(), cma = describe_cma(), active = describe_active();
const ipcmark_transport *const TRANSPORTS[] = {&shm, &tcp, &cma, &active};

} // namespace

} // namespace ucx

const struct ipcmark_module *ipcmark_module(void) {
    static const auto module =
        ipcmark::describe_module("ucx", ucx::library_version, ucx::TRANSPORTS, ucx::name_leftovers);
    return &module;
}
