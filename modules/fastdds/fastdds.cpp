// fastdds, fastdds-udp, fastdds-shm, fastdds-datasharing, fastdds-loan, fastdds-secure: Fast DDS
// between processes; fastdds-intra: within one.
//
// - Mechanism: each process has a participant with a writer on one topic and a reader on the other.
//   Between participants lie UDP on the loopback interface, the library's shared-memory transport,
//   or data sharing: the reader maps the writer's history. Within a process the writer's thread puts
//   a message into the reader's history itself.
// - Kernel objects: UDP sockets; segments, ports and pools in /dev/shm; threads of the library.
// - Copies a message: none with loans, two with data sharing, four with the shared-memory transport,
//   more with UDP and encryption.
// - Blocks: in a WaitSet, for data. A full history is a timeout of write.
// - Limits: a history of 32 MiB, from 8 to 1000 messages.
#include "fastdds.hpp"
#include "transport.hpp"
#include "words.hpp"

#include <cstdlib>

namespace fastdds_module {

namespace {

constexpr Row AS_IT_COMES{true, true, Sharing::Automatic, false, false};
constexpr Row UDP{true, false, Sharing::Off, false, false};
constexpr Row SHM{false, true, Sharing::Off, false, false};
constexpr Row DATA_SHARING{true, true, Sharing::On, false, false};
constexpr Row LOAN{true, true, Sharing::On, true, false};
constexpr Row SECURE{true, false, Sharing::Off, false, true};
// Its ends find one another over UDP, as others do. What they send does not leave the process.
constexpr Row INTRA{true, false, Sharing::Off, false, false};

int probe_secure(const ipcmark_transport *, ipcmark_error *error) {
    if (std::system("command -v openssl >/dev/null 2>&1") == 0)
        return IPCMARK_DONE;
    return ipcmark_fail(error, "find", "the command openssl", "it is not installed",
                        "apt install openssl");
}

ipcmark_transport row(const char *name, const char *summary, const Row &context, uint32_t flags,
                      const ipcmark_option_spec *options, uint32_t option_count) {
    ipcmark_transport transport{};
    transport.size = sizeof transport;
    transport.flags = flags;
    transport.name = name;
    transport.summary = summary;
    transport.max_payload = 4 << 20;
    transport.waits = IPCMARK_SPIN | IPCMARK_BLOCK | IPCMARK_HYBRID;
    transport.patterns = IPCMARK_LATENCY | IPCMARK_FAN_OUT;
    transport.max_subscribers = MOST_FOLLOWERS;
    transport.option_count = option_count;
    transport.context = &context;
    transport.open = open_end;
    transport.publish = publish;
    transport.take = take;
    transport.close = close_end;
    transport.wait = wait;
    transport.remove = remove_leftovers;
    transport.options = options;
    transport.check = check_options;
    return transport;
}

ipcmark_transport with_loans(ipcmark_transport transport) {
    transport.loan = loan;
    transport.release = release;
    return transport;
}

ipcmark_transport with_probe(ipcmark_transport transport) {
    transport.probe = probe_secure;
    return transport;
}

const ipcmark_transport fastdds =
    with_loans(row("fastdds", "Fast DDS as it comes: data sharing if it can, else shared memory, else UDP",
                   AS_IT_COMES, 0, default_options, default_option_count));
const ipcmark_transport fastdds_udp = row("fastdds-udp", "Fast DDS over UDP on the loopback interface",
                                          UDP, IPCMARK_ON_NETWORK | IPCMARK_CROSSES_HOSTS, udp_options, udp_option_count);
const ipcmark_transport fastdds_shm = row("fastdds-shm", "Fast DDS over its shared-memory transport", SHM,
                                          IPCMARK_IN_MEMORY, shm_options, shm_option_count);
const ipcmark_transport fastdds_datasharing =
    row("fastdds-datasharing", "Fast DDS with data sharing: the reader maps the writer's history",
        DATA_SHARING, IPCMARK_IN_MEMORY, data_sharing_options, data_sharing_option_count);
const ipcmark_transport fastdds_loan = with_loans(
    row("fastdds-loan", "Fast DDS with data sharing and loans: written and read in place", LOAN,
        IPCMARK_LOANS | IPCMARK_IN_MEMORY, data_sharing_options, data_sharing_option_count));
const ipcmark_transport fastdds_secure = with_probe(
    row("fastdds-secure", "Fast DDS over UDP, authenticated, access-controlled and encrypted", SECURE,
        IPCMARK_ON_NETWORK | IPCMARK_CROSSES_HOSTS, secure_options, secure_option_count));
const ipcmark_transport fastdds_intra =
    row("fastdds-intra", "Fast DDS within one process: publisher and subscriber are threads of it",
        INTRA, IPCMARK_SAME_PROCESS, intra_options, intra_option_count);

const ipcmark_transport *const transports[] = {&fastdds,      &fastdds_udp,    &fastdds_shm, &fastdds_datasharing,
                                               &fastdds_loan, &fastdds_secure, &fastdds_intra};

} // namespace

} // namespace fastdds_module

const struct ipcmark_module *ipcmark_module(void) {
    using namespace fastdds_module;
    static const struct ipcmark_module module = [] {
        struct ipcmark_module described{};
        described.size = sizeof described;
        described.abi_version = IPCMARK_ABI_VERSION;
        described.family = "fastdds";
        described.library_version = library_version;
        described.transports = transports;
        described.transport_count = sizeof transports / sizeof *transports;
        return described;
    }();
    return &module;
}
