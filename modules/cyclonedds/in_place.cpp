// The hot path in iceoryx's shared memory: loans of the writer, and what the reader takes before the
// library would copy it out.
#include "endpoint.hpp"
#include "room.hpp"
#include "sharing.hpp"
#include "transport.hpp"

#include <dds/ddsc/dds_loan_api.h>
#include <dds/ddsi/ddsi_serdata.h>

namespace cyclonedds_module::in_place {

namespace {

Room *room_of(void *bytes) {
    return reinterpret_cast<Room *>(static_cast<uint8_t *>(bytes) - ROOM_HEAD);
}

int not_now(const End &end, ipcmark_error *error) {
    const int result = end.sharing->check(error);
    return result == IPCMARK_DONE ? IPCMARK_WOULD_BLOCK : result;
}

int fail_elsewhere(ipcmark_error *error) {
    return ipcmark_fail(error, "take", "a message of Cyclone DDS", "it did not come through shared memory",
                        nullptr);
}

} // namespace

int loan(void *end, size_t, void **room, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (!self.sharing->has_room())
        return not_now(self, error);
    if (!self.lent) {
        const dds_return_t code = dds_loan_sample(self.writer, &self.lent);
        if (code < 0)
            return self.sharing->check(error) ? IPCMARK_FAILED : outcome(code, error, "loan");
    }
    *room = static_cast<Room *>(self.lent)->bytes;
    return IPCMARK_DONE;
}

int publish(void *end, void *message, size_t len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    Room *const room = room_of(message);
    room->len = static_cast<uint32_t>(len);
    room->sender = self.plan.follower;
    const int result = outcome(dds_write(self.writer, room), error, "write");
    if (result != IPCMARK_DONE)
        return result;
    self.lent = nullptr;
    self.sharing->count_sent();
    return IPCMARK_DONE;
}

int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (!anything_new(self))
        return not_now(self, error);
    dds_sample_info_t info;
    const dds_return_t count = dds_takecdr(self.reader, &self.taken, 1, &info, DDS_ANY_STATE);
    if (count <= 0)
        return count == 0 ? not_now(self, error) : outcome(count, error, "take");
    self.more = true;
    const auto *room = static_cast<const Room *>(self.taken->iox_chunk);
    // What tells that a writer is gone carries no message.
    if (!info.valid_data || !room) {
        ddsi_serdata_unref(self.taken);
        self.taken = nullptr;
        return info.valid_data ? fail_elsewhere(error) : IPCMARK_WOULD_BLOCK;
    }
    *message = room->bytes;
    *len = room->len;
    return IPCMARK_DONE;
}

int release(void *end, const void *, ipcmark_error *) {
    auto &self = *static_cast<End *>(end);
    const uint32_t sender = static_cast<const Room *>(self.taken->iox_chunk)->sender;
    ddsi_serdata_unref(self.taken);
    self.taken = nullptr;
    self.sharing->count_released(sender);
    return IPCMARK_DONE;
}

int wait(void *end, uint64_t timeout_ns, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (int result = self.sharing->check(error))
        return result;
    return copied::wait(end, timeout_ns, error);
}

} // namespace cyclonedds_module::in_place
