// The hot path over UDP: what a plain program would call, and nothing else.
#include "endpoint.hpp"
#include "transport.hpp"

namespace cyclonedds_module::copied {

int publish(void *end, void *message, size_t len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    const auto octets = static_cast<uint32_t>(len);
    const ipcmark_Message written{{octets, octets, static_cast<uint8_t *>(message), false}};
    return outcome(dds_write(self.writer, &written), error, "write");
}

int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (!anything_new(self))
        return IPCMARK_WOULD_BLOCK;
    // The library fills a buffer that is large enough, and makes none.
    ipcmark_Message taken{{static_cast<uint32_t>(self.incoming.size()), 0, self.incoming.data(), false}};
    void *place = &taken;
    dds_sample_info_t info;
    const dds_return_t count = dds_take(self.reader, &place, &info, 1, 1);
    if (count <= 0)
        return count == 0 ? IPCMARK_WOULD_BLOCK : outcome(count, error, "take");
    self.more = true;
    // What tells that a writer is gone carries no message.
    if (!info.valid_data)
        return IPCMARK_WOULD_BLOCK;
    *message = taken.content._buffer;
    *len = taken.content._length;
    return IPCMARK_DONE;
}

int wait(void *end, uint64_t timeout_ns, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    dds_attach_t awake;
    const auto woken = dds_waitset_wait(self.awaited, &awake, 1, static_cast<dds_duration_t>(timeout_ns));
    return woken == 0 ? IPCMARK_WOULD_BLOCK : outcome(woken, error, "wait for");
}

} // namespace cyclonedds_module::copied
