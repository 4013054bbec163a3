// Set-up and teardown. The ends exchange the names of their endpoints, and send a message in each direction before
// anything is measured: the provider maps the other end's memory with the first messages.
#include "connection.hpp"

#include "shared/c/space.h"
#include "shared/cpp/environment.hpp"
#include "shared/cpp/options.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include <sys/uio.h>
#include <unistd.h>

namespace libfabric {

namespace {

constexpr uint32_t VERSION = FI_VERSION(1, 17);
constexpr size_t MOST_ADDRESS_BYTES = 512;
constexpr size_t SHARED_BYTES = 32u << 20; // An upper bound of both ends' shared memory.

// A byte of a process.
struct Place {
    pid_t process;
    char *byte;
};

// The library reads its variables once.
void prepare_library(const ipcmark_settings &settings) {
    ipcmark::forget_variables_of("FI_");
    setenv("FI_PROVIDER", "shm", 1);
    setenv("FI_SHM_DISABLE_CMA", ipcmark::is_on(settings, "cma", true) ? "0" : "1", 1);
}

// The memory of the endpoint gets a name that begins with the session's.
std::string name_of(const ipcmark_settings &settings) {
    return std::string(settings.name) + (settings.role == IPCMARK_LEADER ? "-leader" : "-follower");
}

// Restores what these signals do, and lets them wait until then. The provider's handlers remove its files, as ipcmark
// does by their names, and take a lock that the interrupted thread may hold: a worker that gets a signal then waits for
// itself.
class KeptActions {
    static constexpr std::array SIGNALS{SIGBUS, SIGSEGV, SIGTERM, SIGINT};
    std::array<struct sigaction, SIGNALS.size()> actions{};
    sigset_t blocked{};

  public:
    KeptActions() {
        sigset_t waiting;
        sigemptyset(&waiting);
        for (const int signal : SIGNALS)
            sigaddset(&waiting, signal);
        pthread_sigmask(SIG_BLOCK, &waiting, &blocked);
        for (size_t at = 0; at < SIGNALS.size(); at++)
            sigaction(SIGNALS[at], nullptr, &actions[at]);
    }
    ~KeptActions() {
        for (size_t at = 0; at < SIGNALS.size(); at++)
            sigaction(SIGNALS[at], &actions[at], nullptr);
        pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
    }
    KeptActions(const KeptActions &) = delete;
    KeptActions &operator=(const KeptActions &) = delete;
};

int find_provider(const ipcmark_settings &settings, fi_info **info, ipcmark_error *error) {
    const std::unique_ptr<fi_info, void (*)(fi_info *)> hints(fi_allocinfo(), fi_freeinfo);
    if (!hints)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", nullptr);
    hints->caps = FI_TAGGED;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_DOMAIN; // One thread calls the library.
    hints->fabric_attr->prov_name = strdup("shm");
    const int status = fi_getinfo(VERSION, nullptr, name_of(settings).c_str(), FI_SOURCE, hints.get(), info);
    return status == 0 ? IPCMARK_DONE : fail(error, "find", "libfabric's provider shm", status);
}

template <typename Part> void close_part(Part *part) {
    if (part)
        fi_close(&part->fid);
}

} // namespace

int fail(ipcmark_error *error, const char *operation, const char *object, ssize_t status) {
    return ipcmark_fail(error, operation, object, fi_strerror(static_cast<int>(-status)), nullptr);
}

// Set-up -----------------------------------------------------------------------------------------

int Connection::open_parts(ipcmark_error *error) {
    const KeptActions kept;
    fi_av_attr table{};
    fi_cq_attr queue{};
    queue.format = FI_CQ_FORMAT_TAGGED;
    queue.wait_obj = FI_WAIT_NONE;
    int status = fi_fabric(info->fabric_attr, &fabric, nullptr);
    if (status == 0)
        status = fi_domain(fabric, info, &domain, nullptr);
    if (status == 0)
        status = fi_av_open(domain, &table, &addresses, nullptr);
    if (status == 0)
        status = fi_cq_open(domain, &queue, &completions, nullptr);
    if (status == 0)
        status = fi_endpoint(domain, info, &endpoint, nullptr);
    return status == 0 ? IPCMARK_DONE : fail(error, "make", "an endpoint of libfabric", status);
}

int Connection::bind_parts(ipcmark_error *error) {
    int status = fi_ep_bind(endpoint, &addresses->fid, 0);
    if (status == 0)
        status = fi_ep_bind(endpoint, &completions->fid, FI_TRANSMIT | FI_RECV);
    if (status == 0)
        status = fi_enable(endpoint);
    return status == 0 ? IPCMARK_DONE : fail(error, "make", "an endpoint of libfabric", status);
}

int Connection::make_endpoint(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    prepare_library(settings);
    int result = ipcmark_check_space(SHARED_BYTES, error);
    if (result == IPCMARK_DONE)
        result = find_provider(settings, &info, error);
    if (result != IPCMARK_DONE)
        return result;
    const auto inject = std::to_string(info->tx_attr->inject_size) + " bytes";
    session->note(session, "injected up to", inject.c_str());
    result = open_parts(error);
    return result == IPCMARK_DONE ? bind_parts(error) : result;
}

int Connection::exchange(ipcmark_session *session, ipcmark_error *error) {
    char name[MOST_ADDRESS_BYTES];
    size_t len = sizeof name, none = 0;
    if (const int status = fi_getname(&endpoint->fid, name, &len); status != 0)
        return fail(error, "ask for the name of", "an endpoint of libfabric", status);
    int result = session->send(session, 0, name, len, nullptr, 0, error);
    len = sizeof name - 1;
    if (result == IPCMARK_DONE)
        result = session->receive(session, 0, name, &len, nullptr, &none, error);
    if (result != IPCMARK_DONE)
        return result;
    name[len] = '\0';
    const int count = fi_av_insert(addresses, name, 1, &peer, 0, nullptr);
    if (count == 1)
        return IPCMARK_DONE;
    return ipcmark_fail(error, "connect", "an endpoint of libfabric", "the other end's name is refused", nullptr);
}

// The kernel may refuse access to the other end's memory. Then the provider copies through its buffers, and does not
// report it.
int Connection::note_cma(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    if (!ipcmark::is_on(settings, "cma", true)) {
        session->note(session, "CMA", "off");
        return IPCMARK_DONE;
    }
    const Place own{getpid(), &greeting};
    Place other{};
    size_t len = sizeof other, none = 0;
    int result = session->send(session, 0, &own, sizeof own, nullptr, 0, error);
    if (result == IPCMARK_DONE)
        result = session->receive(session, 0, &other, &len, nullptr, &none, error);
    if (result != IPCMARK_DONE)
        return result;
    char byte = 0;
    const iovec target{&byte, 1}, source{other.byte, 1};
    // The provider tries to write, and then reads.
    const bool is_allowed = process_vm_readv(other.process, &target, 1, &source, 1, 0) == 1 &&
                            process_vm_writev(other.process, &target, 1, &source, 1, 0) == 1;
    session->note(session, "CMA", is_allowed ? "on" : "refused by the kernel");
    return IPCMARK_DONE;
}

// A first message, with a time limit.
int Connection::greet(bool sends, const ipcmark::Deadline &deadline, ipcmark_error *error) {
    int result = sends ? IPCMARK_WOULD_BLOCK : receive(&greeting, 1, GREETING, error);
    for (uint64_t n = 1; result == IPCMARK_WOULD_BLOCK || (result == IPCMARK_DONE && is_receiving); n++) {
        result = sends ? send(&greeting, 1, GREETING, error) : progress(error);
        if (n % 1024 != 0)
            continue;
        if (flow.is_peer_closed())
            return ipcmark_fail(error, "exchange", "a first message of libfabric", "the other end is gone", nullptr);
        if (deadline.has_passed())
            return ipcmark_fail(error, "exchange", "a first message of libfabric",
                                deadline.missed("the other end does not come").c_str(), nullptr);
    }
    return result;
}

int Connection::open(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    const bool leads = settings.role == IPCMARK_LEADER;
    const ipcmark::Deadline deadline(settings);
    int result = make_endpoint(settings, session, error);
    if (result == IPCMARK_DONE)
        result = flow.open_bounded(settings, session, error);
    if (result == IPCMARK_DONE)
        result = exchange(session, error);
    if (result == IPCMARK_DONE)
        result = note_cma(settings, session, error);
    if (result == IPCMARK_DONE)
        result = session->meet(session, error);
    for (const bool sends : {leads, !leads})
        if (result == IPCMARK_DONE)
            result = greet(sends, deadline, error);
    return result;
}

// The hot path -----------------------------------------------------------------------------------

int Connection::send(const void *message, size_t len, uint64_t tag, ipcmark_error *error) {
    const bool is_small = len <= info->tx_attr->inject_size;
    const ssize_t status = is_small ? fi_tinject(endpoint, message, len, peer, tag)
                                    : fi_tsend(endpoint, message, len, nullptr, peer, tag, nullptr);
    if (status == -FI_EAGAIN) {
        const int result = progress(error);
        return result == IPCMARK_DONE ? IPCMARK_WOULD_BLOCK : result;
    }
    if (status != 0)
        return fail(error, "send", "a message of libfabric", status);
    is_sending = !is_small;
    return IPCMARK_DONE;
}

int Connection::receive(void *message, size_t room, uint64_t tag, ipcmark_error *error) {
    const ssize_t status = fi_trecv(endpoint, message, room, nullptr, FI_ADDR_UNSPEC, tag, 0, nullptr);
    if (status == -FI_EAGAIN)
        return progress(error);
    if (status != 0)
        return fail(error, "receive", "a message of libfabric", status);
    is_receiving = true;
    return IPCMARK_DONE;
}

int Connection::progress(ipcmark_error *error) {
    fi_cq_tagged_entry entry;
    const ssize_t count = fi_cq_read(completions, &entry, 1);
    if (count == -FI_EAGAIN)
        return IPCMARK_DONE;
    if (count < 0)
        return explain(error);
    if (entry.flags & FI_RECV) {
        is_receiving = false;
        received = entry.len;
    } else {
        is_sending = false;
    }
    return IPCMARK_DONE;
}

int Connection::explain(ipcmark_error *error) {
    fi_cq_err_entry entry{};
    const ssize_t count = fi_cq_readerr(completions, &entry, 0);
    return fail(error, "exchange", "a message of libfabric", count < 0 ? count : -entry.err);
}

// Teardown ---------------------------------------------------------------------------------------

Connection::~Connection() {
    close_part(endpoint);
    close_part(completions);
    close_part(addresses);
    close_part(domain);
    close_part(fabric);
    if (info)
        fi_freeinfo(info);
}

} // namespace libfabric
