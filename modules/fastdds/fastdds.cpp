// fastdds, fastdds-udp, fastdds-shm, fastdds-datasharing, fastdds-loan, fastdds-secure: Fast DDS between processes;
// fastdds-intra: within one.
//
// - Mechanism: each process has a participant with a writer on one topic and a reader on the other, over UDP on the
//   loopback interface, the library's shared-memory transport, or data sharing: the reader maps the writer's history.
//   Within a process the writer's thread itself puts a message into the reader's history.
// - Kernel objects: UDP sockets; segments, ports and pools in /dev/shm; threads of the library.
// - Copies a message: none with loans, two with data sharing, four with the shared-memory transport, more with UDP and
//   encryption.
// - Blocks: in a WaitSet, for data. A full history is a timeout of write.
// - Limits: a history of 32 MiB, from 8 to 1000 messages.
#include "endpoint.hpp"
#include "leftovers.hpp"
#include "log.hpp"
#include "setup.hpp"

#include "shared/cpp/description.hpp"
#include "shared/cpp/loaded_version.hpp"

#include <cstddef>
#include <cstdlib>

#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastrtps/config.h>

namespace fastdds_module {

namespace dds = eprosima::fastdds::dds;

namespace {

// Set-up and teardown ----------------------------------------------------------------------------

int check_options(const ipcmark_transport *transport, const ipcmark_option *options, uint32_t option_count,
                  ipcmark_error *error) {
    return guarded(error, [&] {
        ipcmark_settings settings{};
        settings.payload = 16;
        settings.name = settings.directory = "";
        settings.options = options;
        settings.option_count = option_count;
        capture_log();
        check_files(configure(*static_cast<const Defaults *>(transport->context), settings));
    });
}

int open_end(const ipcmark_transport *transport, const ipcmark_settings *settings, ipcmark_session *session,
             void **opened, ipcmark_error *error) {
    const ipcmark::Deadline deadline(*settings);
    return guarded(error, [&] {
        capture_log();
        const auto config = configure(*static_cast<const Defaults *>(transport->context), *settings);
        *opened = set_up(config, deadline, session, error).release();
    });
}

void close_end(void *end) {
    tear_down(std::unique_ptr<End>(static_cast<End *>(end)));
}

// The hot path -----------------------------------------------------------------------------------

// A full history is a timeout, a full pool is out of resources: both end when messages are acknowledged.
int outcome(const ReturnCode_t &code, ipcmark_error *error, const char *operation) {
    switch (code()) {
    case ReturnCode_t::RETCODE_OK:
        return IPCMARK_DONE;
    case ReturnCode_t::RETCODE_TIMEOUT:
    case ReturnCode_t::RETCODE_OUT_OF_RESOURCES:
    case ReturnCode_t::RETCODE_NO_DATA:
        return IPCMARK_WOULD_BLOCK;
    default:
        const auto cause = "Fast DDS returned the code " + std::to_string(code());
        return ipcmark_fail(error, operation, "a message of Fast DDS", cause.c_str(), nullptr);
    }
}

int loan(void *end, size_t, void **room, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (!self.config.loans) {
        *room = self.outgoing.data();
        return IPCMARK_DONE;
    }
    const auto code = self.writer->loan_sample(self.on_loan);
    if (code() != ReturnCode_t::RETCODE_OK)
        return outcome(code, error, "loan");
    *room = static_cast<Wire *>(self.on_loan)->bytes;
    return IPCMARK_DONE;
}

int publish(void *end, void *message, size_t len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (!self.config.loans) {
        Sample sample{message, static_cast<uint32_t>(len)};
        return outcome(self.writer->write(&sample, dds::HANDLE_NIL), error, "write");
    }
    auto *const wire = reinterpret_cast<Wire *>(static_cast<uint8_t *>(message) - offsetof(Wire, bytes));
    wire->len = static_cast<uint32_t>(len);
    const int result = outcome(self.writer->write(wire, dds::HANDLE_NIL), error, "write");
    if (result == IPCMARK_DONE)
        self.on_loan = nullptr;
    return result;
}

int take_copy(End &self, const void **message, size_t *len, ipcmark_error *error) {
    Sample sample{self.incoming.data(), 0};
    dds::SampleInfo info;
    const auto code = self.reader->take_next_sample(&sample, &info);
    if (code() != ReturnCode_t::RETCODE_OK)
        return outcome(code, error, "take");
    self.may_hold_more = true;
    // A sample that reports the end of a writer contains no message.
    if (!info.valid_data)
        return IPCMARK_WOULD_BLOCK;
    *message = sample.bytes;
    *len = sample.len;
    return IPCMARK_DONE;
}

int take_in_place(End &self, const void **message, size_t *len, ipcmark_error *error) {
    const auto code = self.reader->take(self.taken, self.infos, 1);
    if (code() != ReturnCode_t::RETCODE_OK)
        return outcome(code, error, "take");
    self.may_hold_more = true;
    if (!self.infos[0].valid_data) {
        self.reader->return_loan(self.taken, self.infos);
        return IPCMARK_WOULD_BLOCK;
    }
    const Wire &wire = self.taken[0];
    if (wire.len > self.config.payload)
        return ipcmark_fail(error, "take", "a message of Fast DDS", "its length is corrupt", nullptr);
    *message = wire.bytes;
    *len = wire.len;
    return IPCMARK_DONE;
}

int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (self.config.polls && !self.may_have_message())
        return IPCMARK_WOULD_BLOCK;
    return self.config.loans ? take_in_place(self, message, len, error) : take_copy(self, message, len, error);
}

int release(void *end, const void *, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (!self.config.loans)
        return IPCMARK_DONE;
    return outcome(self.reader->return_loan(self.taken, self.infos), error, "return");
}

int wait(void *end, uint64_t timeout_ns, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    const eprosima::fastrtps::Duration_t timeout(static_cast<int32_t>(timeout_ns / 1000000000),
                                                 static_cast<uint32_t>(timeout_ns % 1000000000));
    return outcome(self.waitset.wait(self.triggered, timeout), error, "wait for");
}

// The definition ---------------------------------------------------------------------------------

constexpr Defaults AS_IT_COMES{true, true, Sharing::Automatic, false, false};
constexpr Defaults UDP{true, false, Sharing::Off, false, false};
constexpr Defaults SHM{false, true, Sharing::Off, false, false};
constexpr Defaults DATA_SHARING{true, true, Sharing::On, false, false};
constexpr Defaults LOAN{true, true, Sharing::On, true, false};
constexpr Defaults SECURE{true, false, Sharing::Off, false, true};
// Its endpoints find each other over UDP, but the messages do not leave the process.
constexpr Defaults INTRA{true, false, Sharing::Off, false, false};

int probe_secure(const ipcmark_transport *, ipcmark_error *error) {
    // The shell looks for the command; no part of the line comes from outside.
    if (std::system("command -v openssl >/dev/null 2>&1") == 0)
        return IPCMARK_DONE;
    return ipcmark_fail(error, "find", "the command openssl", "it is not installed", "apt install openssl");
}

// The library has no function for its version.
const char *library_version() {
    static const auto version = ipcmark::loaded_version(
        reinterpret_cast<const void *>(&dds::DomainParticipantFactory::get_instance), FASTRTPS_VERSION_STR);
    return version.c_str();
}

template <size_t N>
ipcmark_transport describe(const char *name, const char *summary, const Defaults &defaults, uint32_t flags,
                           const ipcmark_option_spec (&options)[N]) {
    auto transport = ipcmark::describe_transport(name, summary, IPCMARK_SPIN | IPCMARK_BLOCK | IPCMARK_HYBRID, flags);
    ipcmark::set_options(transport, options);
    transport.patterns = IPCMARK_LATENCY | IPCMARK_FAN_OUT;
    transport.max_subscribers = MOST_FOLLOWERS;
    transport.context = &defaults;
    transport.open = open_end;
    transport.publish = publish;
    transport.take = take;
    transport.close = close_end;
    transport.wait = wait;
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
    with_loans(describe("fastdds", "Fast DDS as it comes: data sharing if it can, else shared memory, else UDP",
                        AS_IT_COMES, 0, DEFAULT_OPTIONS));
const ipcmark_transport fastdds_udp = describe("fastdds-udp", "Fast DDS over UDP on the loopback interface", UDP,
                                               IPCMARK_ON_NETWORK | IPCMARK_CROSSES_HOSTS, UDP_OPTIONS);
const ipcmark_transport fastdds_shm =
    describe("fastdds-shm", "Fast DDS over its shared-memory transport", SHM, IPCMARK_IN_MEMORY, SHM_OPTIONS);
const ipcmark_transport fastdds_datasharing =
    describe("fastdds-datasharing", "Fast DDS with data sharing: the reader maps the writer's history", DATA_SHARING,
             IPCMARK_IN_MEMORY, DATA_SHARING_OPTIONS);
const ipcmark_transport fastdds_loan =
    with_loans(describe("fastdds-loan", "Fast DDS with data sharing and loans: written and read in place", LOAN,
                        IPCMARK_LOANS | IPCMARK_IN_MEMORY, DATA_SHARING_OPTIONS));
const ipcmark_transport fastdds_secure =
    with_probe(describe("fastdds-secure", "Fast DDS over UDP, authenticated, access-controlled and encrypted", SECURE,
                        IPCMARK_ON_NETWORK | IPCMARK_CROSSES_HOSTS, SECURE_OPTIONS));
const ipcmark_transport fastdds_intra =
    describe("fastdds-intra", "Fast DDS within one process: publisher and subscriber are threads of it", INTRA,
             IPCMARK_SAME_PROCESS, INTRA_OPTIONS);

const ipcmark_transport *const TRANSPORTS[] = {
    &fastdds, &fastdds_udp, &fastdds_shm, &fastdds_datasharing, &fastdds_loan, &fastdds_secure, &fastdds_intra,
};

} // namespace

} // namespace fastdds_module

const struct ipcmark_module *ipcmark_module(void) {
    using namespace fastdds_module;
    static const auto module = ipcmark::describe_module("fastdds", library_version, TRANSPORTS, name_leftovers);
    return &module;
}
