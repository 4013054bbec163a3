// cyclonedds, cyclonedds-iceoryx: Eclipse Cyclone DDS between processes.
//
// - Mechanism: each process has a participant with a writer on one topic and a reader on the other.
//   Between them lies UDP on the loopback interface, or the shared memory of iceoryx's daemon, which
//   the leader starts with a pool for this payload and ends again.
// - Kernel objects: UDP sockets; threads of the library. With iceoryx also the daemon's shared memory
//   and sockets, semaphores.
// - Copies a message: none with iceoryx; over UDP five: into the library's form, into the kernel, out
//   of it, together from its datagrams, into the buffer of the end.
// - Blocks: in a waitset, for data. A full history is a timeout of write.
// - Limits: with iceoryx the daemon's names are fixed, so outside a sandbox one session a machine.
#include "cyclonedds.hpp"
#include "transport.hpp"
#include "words.hpp"

#include "../iceoryx/daemon.hpp"
#include "../iceoryx/runtime.hpp"

namespace cyclonedds_module {

namespace {

// The context of the row that shares memory.
constexpr bool SHARES = true;

int remove_leftovers(const ipcmark_transport *, const char *name, ipcmark_error *) {
    if (*name)
        ipcmark::remove_registration(name);
    ipcmark::remove_daemon_files();
    return IPCMARK_DONE;
}

ipcmark_transport row(const char *name, const char *summary, uint32_t flags) {
    ipcmark_transport transport{};
    transport.size = sizeof transport;
    transport.flags = flags;
    transport.name = name;
    transport.summary = summary;
    transport.max_payload = 4 << 20;
    transport.waits = IPCMARK_SPIN | IPCMARK_BLOCK | IPCMARK_HYBRID;
    transport.patterns = IPCMARK_LATENCY | IPCMARK_FAN_OUT;
    transport.max_subscribers = 16;
    transport.check = check_options;
    transport.open = open_end;
    transport.close = close_end;
    return transport;
}

ipcmark_transport over_udp() {
    auto transport = row("cyclonedds", "Cyclone DDS over UDP on the loopback interface",
                         IPCMARK_ON_NETWORK | IPCMARK_CROSSES_HOSTS);
    transport.option_count = udp_option_count;
    transport.options = udp_options;
    transport.publish = copied::publish;
    transport.take = copied::take;
    transport.wait = copied::wait;
    return transport;
}

ipcmark_transport over_iceoryx() {
    auto transport = row("cyclonedds-iceoryx", "Cyclone DDS with iceoryx: loans in shared memory, no copy",
                         IPCMARK_LOANS | IPCMARK_EXCLUSIVE | IPCMARK_IN_MEMORY);
    transport.option_count = shared_option_count;
    transport.options = shared_options;
    transport.context = &SHARES;
    transport.loan = in_place::loan;
    transport.publish = in_place::publish;
    transport.take = in_place::take;
    transport.release = in_place::release;
    transport.wait = in_place::wait;
    transport.remove = remove_leftovers;
    return transport;
}

const ipcmark_transport udp = over_udp(), iceoryx = over_iceoryx();
const ipcmark_transport *const transports[] = {&udp, &iceoryx};

struct ipcmark_module describe_module() {
    struct ipcmark_module module{};
    module.size = sizeof module;
    module.abi_version = IPCMARK_ABI_VERSION;
    module.family = "cyclonedds";
    module.library_version = library_version;
    module.transports = transports;
    module.transport_count = sizeof transports / sizeof *transports;
    return module;
}

} // namespace

} // namespace cyclonedds_module

const struct ipcmark_module *ipcmark_module(void) {
    static const struct ipcmark_module module = cyclonedds_module::describe_module();
    return &module;
}
