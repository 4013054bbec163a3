// ucx-shm, ucx-tcp, ucx-cma: tagged messages of UCX between two processes.
//
// - Mechanism: ucp_tag_send_nbx and ucp_tag_recv_nbx, each with ucp_worker_progress until it is done. A worker of the
//   library in each process; no thread of the library moves messages.
// - Kernel objects: shared memory of each worker, whose name is removed at once, or System V segments, which are marked
//   for removal; under `block` also Unix datagram sockets. Or TCP connections. A thread of the library that sleeps.
// - Copies a message: two, into a queue or a buffer of the library and out of it; those of the kernel over TCP; one, by
//   process_vm_readv(2), for large ones with CMA.
// - Blocks: in poll(2) for the descriptor of an armed worker.
// - Limits: two ends on one host. The library works within its calls only.
#include "connection.hpp"

#include "shared/c/space.h"
#include "shared/cpp/description.hpp"
#include "shared/cpp/failure.hpp"
#include "shared/cpp/options.hpp"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <string>

#include <sys/uio.h>
#include <unistd.h>

namespace ucx {

namespace {

constexpr size_t PAGE = 4096;
constexpr uint64_t LONGEST_SLEEP_NS = 100000000;
constexpr size_t SHARED_BYTES = 16u << 20; // An upper bound of what a worker takes.

constexpr const char *CMA_REMEDY = "allow it: docs/transports/cma.md says what keeps a process from it";

#define RNDV_THRESH \
    {"rndv-thresh", "0..64M", "UCX's own", "bytes from which on a message is announced first (UCX_RNDV_THRESH)"}

const ipcmark_option_spec SHM_OPTIONS[] = {
    {"memory", "posix|sysv", "posix", "whose shared memory UCX takes"},
    RNDV_THRESH,
};
const ipcmark_option_spec OPTIONS[] = {RNDV_THRESH};

struct End {
    End() = default;
    End(const End &) = delete;
    End &operator=(const End &) = delete;
    ~End();

    Connection connection;
    bool sleeps = false;
    size_t room = 0;
    void *message = nullptr;                                 // The message taken.
    ucs_status_ptr_t sending = nullptr, receiving = nullptr; // Requests under way.
};

// Set-up and teardown ----------------------------------------------------------------------------

// A request that does not end leaves memory in use of which nothing is known: it stays.
End::~End() {
    if (receiving) {
        ucp_request_cancel(connection.worker, receiving);
        if (!connection.end_request(receiving))
            message = nullptr;
    }
    if (sending)
        connection.end_request(sending);
    std::free(message);
}

int make_room(End &end, const ipcmark_settings &settings, ipcmark_error *error) {
    const size_t bytes = (settings.payload + PAGE - 1) / PAGE * PAGE;
    end.message = std::aligned_alloc(PAGE, bytes);
    if (!end.message)
        return ipcmark_fail(error, "allocate", "a message", "there is no memory left", nullptr);
    ipcmark_touch(end.message, bytes);
    end.room = settings.payload;
    end.sleeps = settings.wait != IPCMARK_SPIN;
    return IPCMARK_DONE;
}

std::string layers(const Way &way, const ipcmark_settings &settings) {
    if (way.layers)
        return way.layers;
    const auto memory = ipcmark::value(settings, "memory");
    return (memory.empty() ? "posix" : memory) + ",self";
}

int open_end(const ipcmark_transport *transport, const ipcmark_settings *settings, ipcmark_session *session,
             void **opened, ipcmark_error *error) {
    const auto &way = *static_cast<const Way *>(transport->context);
    std::unique_ptr<End> end(new (std::nothrow) End);
    if (!end)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", nullptr);
    int result = make_room(*end, *settings, error);
    if (result == IPCMARK_DONE && !way.devices)
        result = ipcmark_check_space(SHARED_BYTES, error);
    if (result == IPCMARK_DONE)
        result = end->connection.open(way, layers(way, *settings), *settings, session, error);
    if (result == IPCMARK_DONE)
        *opened = end.release();
    return result;
}

void close_end(void *end) {
    delete static_cast<End *>(end);
}

// The hot path -----------------------------------------------------------------------------------

int begin_sending(End &self, const void *message, size_t len, ipcmark_error *error) {
    const ucp_request_param_t plain{};
    self.sending = ucp_tag_send_nbx(self.connection.endpoint, message, len, TAG, &plain);
    if (!UCS_PTR_IS_ERR(self.sending))
        return IPCMARK_DONE;
    const auto status = UCS_PTR_STATUS(self.sending);
    self.sending = nullptr;
    return fail(error, "send", "a message of UCX", status);
}

// A receiver that is asleep has to be given the time to fetch the message.
int go_on_sending(End &self, ipcmark_error *error) {
    self.connection.progress();
    const auto status = ucp_request_check_status(self.sending);
    if (status == UCS_INPROGRESS)
        return self.sleeps ? self.connection.sleep(LONGEST_SLEEP_NS, error) : IPCMARK_DONE;
    ucp_request_free(self.sending);
    self.sending = nullptr;
    return status == UCS_OK ? IPCMARK_DONE : fail(error, "send", "a message of UCX", status);
}

int publish(void *end, void *message, size_t len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    int result = IPCMARK_DONE;
    if (self.sending) {
        result = go_on_sending(self, error);
    } else if (self.connection.flow.has_room()) {
        result = begin_sending(self, message, len, error);
    } else {
        // The library works only within its calls, and the other end may wait for some of its work.
        self.connection.progress();
        return IPCMARK_WOULD_BLOCK;
    }
    if (result != IPCMARK_DONE)
        return result;
    if (self.sending)
        return IPCMARK_WOULD_BLOCK;
    self.connection.flow.count_sent();
    return IPCMARK_DONE;
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
        // A message that is there already has a request too, for UCX 1.13 tells no length without one.
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

// Where the kernel refuses the call altogether, UCX does without and says nothing.
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

// A file that a process was killed over before it removed the name.
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

const Way SHM = {nullptr, nullptr, nullptr, nullptr, false};
const Way TCP = {"tcp,self", "lo", "tcp/lo", nullptr, true};
const Way CMA = {"posix,cma,self", nullptr, "cma/memory", CMA_REMEDY, false};

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

const ipcmark_transport shm = describe_shm(), tcp = describe_tcp(), cma = describe_cma();
const ipcmark_transport *const TRANSPORTS[] = {&shm, &tcp, &cma};

} // namespace

} // namespace ucx

const struct ipcmark_module *ipcmark_module(void) {
    static const auto module =
        ipcmark::describe_module("ucx", ucx::library_version, ucx::TRANSPORTS, ucx::name_leftovers);
    return &module;
}
