// cyclonedds, cyclonedds-iceoryx: Eclipse Cyclone DDS between processes.
//
// - Mechanism: each process has a participant with a writer on one topic and a reader on the other, over UDP on the
//   loopback interface, or over the shared memory of iceoryx's daemon, which the leader starts with a pool for the
//   payload and ends.
// - Kernel objects: UDP sockets; threads of the library. With iceoryx also the daemon's shared memory and sockets, and
//   semaphores.
// - Copies a message: none with iceoryx; over UDP five: into the library's format, into the kernel, out of it, from the
//   datagrams into one piece, into the endpoint's buffer.
// - Blocks: in a waitset, for data. A full history is a timeout of write.
// - Limits: with iceoryx the daemon's names are fixed, so without a sandbox a machine can have only one session.
#include "domain.hpp"
#include "endpoint.hpp"
#include "log.hpp"
#include "setup.hpp"

#include "shared/cpp/description.hpp"
#include "shared/cpp/loaded_version.hpp"
#include "shared/roudi/daemon.hpp"

#include <dds/ddsc/dds_loan_api.h>
#include <dds/ddsi/ddsi_serdata.h>
#include <dds/version.h>

namespace cyclonedds_module {

namespace {

// Set-up and teardown ----------------------------------------------------------------------------

// The context of the transport that shares memory; the other one has null.
constexpr bool SHARES = true;

// The library reads a profile when it makes a domain.
int check_options(const ipcmark_transport *, const ipcmark_option *options, uint32_t option_count,
                  ipcmark_error *error) {
    return guarded(error, [&] {
        ipcmark_settings settings{};
        settings.payload = 16;
        settings.subscribers = 1;
        settings.name = settings.directory = "check";
        settings.options = options;
        settings.option_count = option_count;
        const auto config = configure(false, settings);
        capture_log();
        if (!config.profile.empty())
            delete_domain(make_participant(config, choose_address(config)));
    });
}

int open_end(const ipcmark_transport *transport, const ipcmark_settings *settings, ipcmark_session *session,
             void **opened, ipcmark_error *error) {
    return guarded(error, [&] {
        capture_log();
        const auto end = std::make_shared<End>(configure(transport->context != nullptr, *settings));
        const int result = guarded(error, [&] { set_up(end, *settings, session, error); });
        if (result != IPCMARK_DONE)
            tear_down(end);
        require(result);
        end->self = end;
        *opened = end.get();
    });
}

void close_end(void *opened) {
    const auto end = std::move(static_cast<End *>(opened)->self);
    tear_down(end);
}

// Converts a code of the library to a result of the contract. A full history is a timeout.
int outcome(dds_return_t code, ipcmark_error *error, const char *operation) {
    if (code >= 0)
        return IPCMARK_DONE;
    if (code == DDS_RETCODE_TIMEOUT || code == DDS_RETCODE_NO_DATA)
        return IPCMARK_WOULD_BLOCK;
    return ipcmark_fail(error, operation, "a message of Cyclone DDS", dds_strretcode(code), nullptr);
}

// The hot path of cyclonedds: messages are copied in and out -------------------------------------

int publish_copy(void *end, void *message, size_t len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    const auto octets = static_cast<uint32_t>(len);
    const ipcmark_Message written{{octets, octets, static_cast<uint8_t *>(message), false}};
    return outcome(dds_write(self.writer, &written), error, "write");
}

int take_copy(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (!self.may_have_message())
        return IPCMARK_WOULD_BLOCK;
    // The library fills a buffer that is large enough, and allocates none.
    ipcmark_Message taken{{static_cast<uint32_t>(self.incoming.size()), 0, self.incoming.data(), false}};
    void *sample = &taken;
    dds_sample_info_t info;
    const dds_return_t count = dds_take(self.reader, &sample, &info, 1, 1);
    if (count <= 0)
        return count == 0 ? IPCMARK_WOULD_BLOCK : outcome(count, error, "take");
    self.may_hold_more = true;
    // A sample that reports the end of a writer contains no message.
    if (!info.valid_data)
        return IPCMARK_WOULD_BLOCK;
    *message = taken.content._buffer;
    *len = taken.content._length;
    return IPCMARK_DONE;
}

int wait(void *end, uint64_t timeout_ns, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    dds_attach_t triggered;
    const auto count = dds_waitset_wait(self.waitset, &triggered, 1, static_cast<dds_duration_t>(timeout_ns));
    return count == 0 ? IPCMARK_WOULD_BLOCK : outcome(count, error, "wait for");
}

// The hot path of cyclonedds-iceoryx: messages are written and read in place --------------------

int not_now(const End &end, ipcmark_error *error) {
    const int result = end.daemon->check(error);
    return result == IPCMARK_DONE ? IPCMARK_WOULD_BLOCK : result;
}

int loan(void *end, size_t, void **room, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (!self.daemon->has_room())
        return not_now(self, error);
    if (!self.on_loan) {
        const dds_return_t code = dds_loan_sample(self.writer, &self.on_loan);
        if (code < 0)
            return self.daemon->check(error) ? IPCMARK_FAILED : outcome(code, error, "loan");
    }
    *room = static_cast<FixedMessage *>(self.on_loan)->bytes;
    return IPCMARK_DONE;
}

int publish_loan(void *end, void *room, size_t len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    auto *const message = reinterpret_cast<FixedMessage *>(static_cast<uint8_t *>(room) - FIXED_HEAD);
    message->len = static_cast<uint32_t>(len);
    message->sender = self.config.follower;
    const int result = outcome(dds_write(self.writer, message), error, "write");
    if (result != IPCMARK_DONE)
        return result;
    self.on_loan = nullptr;
    self.daemon->count_sent();
    return IPCMARK_DONE;
}

void drop_taken(End &end) {
    ddsi_serdata_unref(end.taken);
    end.taken = nullptr;
}

int refuse_taken(End &end, const char *cause, ipcmark_error *error) {
    drop_taken(end);
    return ipcmark_fail(error, "take", "a message of Cyclone DDS", cause, nullptr);
}

// Of a word that another process can still write.
uint32_t read_once(const uint32_t &shared) {
    return static_cast<const volatile uint32_t &>(shared);
}

int take_in_place(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (!self.may_have_message())
        return not_now(self, error);
    dds_sample_info_t info;
    // Takes the message as it arrived, before the library would copy it out.
    const dds_return_t count = dds_takecdr(self.reader, &self.taken, 1, &info, DDS_ANY_STATE);
    if (count <= 0)
        return count == 0 ? not_now(self, error) : outcome(count, error, "take");
    self.may_hold_more = true;
    // A sample that reports the end of a writer contains no message.
    if (!info.valid_data) {
        drop_taken(self);
        return IPCMARK_WOULD_BLOCK;
    }
    const auto *taken = static_cast<const FixedMessage *>(self.taken->iox_chunk);
    if (!taken)
        return refuse_taken(self, "it did not come through shared memory", error);
    *len = read_once(taken->len);
    self.sender = read_once(taken->sender);
    if (*len > self.config.payload)
        return refuse_taken(self, "it is longer than any that is sent", error);
    if (self.config.leads && self.sender >= self.config.followers)
        return refuse_taken(self, "it is of no follower", error);
    *message = taken->bytes;
    return IPCMARK_DONE;
}

int release(void *end, const void *, ipcmark_error *) {
    auto &self = *static_cast<End *>(end);
    drop_taken(self);
    self.daemon->count_released(self.sender);
    return IPCMARK_DONE;
}

int wait_for_daemon_too(void *end, uint64_t timeout_ns, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (const int result = self.daemon->check(error))
        return result;
    return wait(end, timeout_ns, error);
}

// The definition ---------------------------------------------------------------------------------

// The library has no function for its version.
const char *library_version() {
    static const auto version =
        ipcmark::loaded_version(reinterpret_cast<const void *>(&dds_create_domain), DDS_VERSION);
    return version.c_str();
}

ipcmark_transport describe(const char *name, const char *summary, uint32_t flags) {
    auto transport = ipcmark::describe_transport(name, summary, IPCMARK_SPIN | IPCMARK_BLOCK | IPCMARK_HYBRID, flags);
    transport.patterns = IPCMARK_LATENCY | IPCMARK_FAN_OUT;
    transport.max_subscribers = MOST_FOLLOWERS;
    transport.check = check_options;
    transport.open = open_end;
    transport.close = close_end;
    return transport;
}

ipcmark_transport describe_udp() {
    auto transport = describe("cyclonedds", "Cyclone DDS over UDP on the loopback interface",
                              IPCMARK_ON_NETWORK | IPCMARK_CROSSES_HOSTS);
    ipcmark::set_options(transport, UDP_OPTIONS);
    transport.publish = publish_copy;
    transport.take = take_copy;
    transport.wait = wait;
    return transport;
}

ipcmark_transport describe_iceoryx() {
    auto transport = describe("cyclonedds-iceoryx", "Cyclone DDS with iceoryx: loans in shared memory, no copy",
                              IPCMARK_LOANS | IPCMARK_EXCLUSIVE | IPCMARK_ONE_END | IPCMARK_IN_MEMORY);
    ipcmark::set_options(transport, SHARED_OPTIONS);
    transport.context = &SHARES;
    transport.loan = loan;
    transport.publish = publish_loan;
    transport.take = take_in_place;
    transport.release = release;
    transport.wait = wait_for_daemon_too;
    return transport;
}

const ipcmark_transport udp = describe_udp(), iceoryx = describe_iceoryx();
const ipcmark_transport *const TRANSPORTS[] = {&udp, &iceoryx};

} // namespace

} // namespace cyclonedds_module

const struct ipcmark_module *ipcmark_module(void) {
    using namespace cyclonedds_module;
    static const auto module =
        ipcmark::describe_module("cyclonedds", library_version, TRANSPORTS, ipcmark::name_leftovers);
    return &module;
}
