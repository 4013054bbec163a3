// The hot path: what a plain program would call, and nothing else.
#include "endpoint.hpp"
#include "transport.hpp"

#include <cstddef>

namespace fastdds_module {

namespace dds = eprosima::fastdds::dds;

namespace {

// A full history is a timeout, a pool without room is out of resources: both end when messages are
// acknowledged.
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

Wire *wire_of(void *bytes) {
    return reinterpret_cast<Wire *>(static_cast<uint8_t *>(bytes) - offsetof(Wire, bytes));
}

// Whether to ask the reader: something was reported, or the last time brought a message, behind which
// there may be another.
bool anything_new(End &self) {
    const auto now = self.news.count.load(std::memory_order_acquire);
    if (now == self.heard && !self.more)
        return false;
    self.heard = now;
    self.more = false;
    return true;
}

int take_copy(End &self, const void **message, size_t *len, ipcmark_error *error) {
    Sample sample{self.incoming.data(), 0};
    dds::SampleInfo info;
    const auto code = self.reader->take_next_sample(&sample, &info);
    if (code() != ReturnCode_t::RETCODE_OK)
        return outcome(code, error, "take");
    self.more = true;
    // What tells that a writer is gone carries no message.
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
    self.more = true;
    if (!self.infos[0].valid_data) {
        self.reader->return_loan(self.taken, self.infos);
        return IPCMARK_WOULD_BLOCK;
    }
    const Wire &wire = self.taken[0];
    if (wire.len > self.plan.payload)
        return ipcmark_fail(error, "take", "a message of Fast DDS", "its length is corrupt", nullptr);
    *message = wire.bytes;
    *len = wire.len;
    return IPCMARK_DONE;
}

} // namespace

int loan(void *end, size_t, void **room, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (!self.plan.loans) {
        *room = self.outgoing.data();
        return IPCMARK_DONE;
    }
    const auto code = self.writer->loan_sample(self.lent);
    if (code() != ReturnCode_t::RETCODE_OK)
        return outcome(code, error, "loan");
    *room = static_cast<Wire *>(self.lent)->bytes;
    return IPCMARK_DONE;
}

int publish(void *end, void *message, size_t len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (!self.plan.loans) {
        Sample sample{message, static_cast<uint32_t>(len)};
        return outcome(self.writer->write(&sample, dds::HANDLE_NIL), error, "write");
    }
    Wire *const wire = wire_of(message);
    wire->len = static_cast<uint32_t>(len);
    const int result = outcome(self.writer->write(wire, dds::HANDLE_NIL), error, "write");
    if (result == IPCMARK_DONE)
        self.lent = nullptr;
    return result;
}

int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (self.plan.polls && !anything_new(self))
        return IPCMARK_WOULD_BLOCK;
    return self.plan.loans ? take_in_place(self, message, len, error)
                           : take_copy(self, message, len, error);
}

int release(void *end, const void *, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (!self.plan.loans)
        return IPCMARK_DONE;
    return outcome(self.reader->return_loan(self.taken, self.infos), error, "return");
}

int wait(void *end, uint64_t timeout_ns, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    const eprosima::fastrtps::Duration_t timeout(static_cast<int32_t>(timeout_ns / 1000000000),
                                                 static_cast<uint32_t>(timeout_ns % 1000000000));
    return outcome(self.awaited.wait(self.awake, timeout), error, "wait for");
}

} // namespace fastdds_module
