// boost-shm: shared memory with a mutex and a condition variable, all of Boost.Interprocess.
//
// - Mechanism: one slot for each direction in one shared_memory_object; a length under the slot's mutex says if it
//   contains a message, and its condition variable is notified when that changes.
// - Kernel objects: one POSIX shared memory object, unlinked once both ends have mapped it; futexes behind mutex and
//   condition.
// - Copies a message: none.
// - Blocks: on the condition. `spin` tries the mutex and checks the length.
// - Limits: one message per direction. The mutex is not robust: a process killed while it holds it blocks the other.
#include "boost.hpp"

#include "shared/c/space.h"
#include "shared/cpp/description.hpp"

#include <cstring>
#include <memory>

#include <boost/interprocess/mapped_region.hpp>
#include <boost/interprocess/shared_memory_object.hpp>
#include <boost/interprocess/sync/interprocess_condition.hpp>
#include <boost/interprocess/sync/interprocess_mutex.hpp>
#include <boost/interprocess/sync/scoped_lock.hpp>

namespace {

namespace ipc = boost::interprocess;
using Lock = ipc::scoped_lock<ipc::interprocess_mutex>;

// A slot's head; its payload follows.
struct alignas(64) Slot {
    ipc::interprocess_mutex mutex;
    ipc::interprocess_condition changed;
    size_t len = 0; // The length of the message in it; 0: empty.

    void *payload() { return this + 1; }
};

struct End {
    ipc::mapped_region region;
    Slot *out, *back;
    size_t largest;
    bool spins;
};

// Set-up and teardown ----------------------------------------------------------------------------

size_t slot_size(uint64_t payload) {
    return sizeof(Slot) + (payload + 63) / 64 * 64;
}

ipc::shared_memory_object share(const ipcmark_settings &settings, bool leads) {
    const auto name = object_name(settings.name, 0);
    if (!leads)
        return ipc::shared_memory_object(ipc::open_only, name.c_str(), ipc::read_write);
    ipc::shared_memory_object memory(ipc::create_only, name.c_str(), ipc::read_write);
    memory.truncate(static_cast<ipc::offset_t>(2 * slot_size(settings.payload)));
    return memory;
}

// The leader writes every page, so that none faults in the measured loop.
void place(End &end, const ipcmark_settings &settings, bool leads) {
    auto *base = static_cast<unsigned char *>(end.region.get_address());
    auto *other = base + slot_size(settings.payload);
    if (leads) {
        std::memset(base, 0, 2 * slot_size(settings.payload));
        new (base) Slot;
        new (other) Slot;
    }
    end.out = reinterpret_cast<Slot *>(leads ? base : other);
    end.back = reinterpret_cast<Slot *>(leads ? other : base);
}

int map_slots(End &end, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    const bool leads = settings.role == IPCMARK_LEADER;
    if (!leads)
        if (const int result = session->meet(session, error))
            return result;
    end.region = ipc::mapped_region(share(settings, leads), ipc::read_write);
    place(end, settings, leads);
    if (leads)
        if (const int result = session->meet(session, error))
            return result;
    return session->meet(session, error);
}

int open_end(const ipcmark_transport *, const ipcmark_settings *settings, ipcmark_session *session, void **opened,
             ipcmark_error *error) {
    if (const int result = ipcmark_check_space(2 * slot_size(settings->payload), error))
        return result;
    return guarded(error, "open", "shared memory of Boost", [&] {
        auto end = std::make_unique<End>();
        end->spins = settings->wait == IPCMARK_SPIN;
        end->largest = settings->payload;
        const int result = guarded(error, "open", "shared memory of Boost",
                                   [&] { return map_slots(*end, *settings, session, error); });
        if (settings->role == IPCMARK_LEADER)
            remove_names(settings->name);
        if (result == IPCMARK_DONE)
            *opened = end.release();
        return result;
    });
}

void close_end(void *end) {
    delete static_cast<End *>(end);
}

// The hot path -----------------------------------------------------------------------------------

// Waits until the slot is full, or empty; if true, the lock is held.
bool await(Lock &lock, Slot &slot, bool spins, bool full) {
    if (spins)
        return lock.try_lock() && (slot.len != 0) == full;
    lock.lock();
    while ((slot.len != 0) != full)
        slot.changed.wait(lock);
    return true;
}

int loan(void *end, size_t, void **room, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    return guarded(error, "wait for", "a slot of Boost", [&]() -> int {
        Lock lock(self.out->mutex, ipc::defer_lock);
        if (!await(lock, *self.out, self.spins, false))
            return IPCMARK_WOULD_BLOCK;
        *room = self.out->payload();
        return IPCMARK_DONE;
    });
}

void hand_over(Slot &slot, bool spins, size_t len) {
    {
        Lock lock(slot.mutex, ipc::defer_lock);
        if (spins)
            while (!lock.try_lock()) {
            }
        else
            lock.lock();
        slot.len = len;
    }
    slot.changed.notify_one();
}

int publish(void *end, void *, size_t len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    return guarded(error, "fill", "a slot of Boost", [&] {
        hand_over(*self.out, self.spins, len);
        return IPCMARK_DONE;
    });
}

int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    return guarded(error, "wait for", "a message of Boost", [&]() -> int {
        Lock lock(self.back->mutex, ipc::defer_lock);
        if (!await(lock, *self.back, self.spins, true))
            return IPCMARK_WOULD_BLOCK;
        if (self.back->len > self.largest)
            return ipcmark_fail(error, "read", "a slot of Boost", "its length is corrupt", nullptr);
        *message = self.back->payload();
        *len = self.back->len;
        return IPCMARK_DONE;
    });
}

int release(void *end, const void *, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    return guarded(error, "empty", "a slot of Boost", [&] {
        hand_over(*self.back, self.spins, 0);
        return IPCMARK_DONE;
    });
}

// The definition ---------------------------------------------------------------------------------

ipcmark_transport describe() {
    auto transport = ipcmark::describe_transport(
        "boost-shm", "Boost.Interprocess: shared memory, a mutex and condition variables, no copy",
        IPCMARK_SPIN | IPCMARK_BLOCK, IPCMARK_LOANS | IPCMARK_IN_MEMORY);
    transport.open = open_end;
    transport.publish = publish;
    transport.take = take;
    transport.close = close_end;
    transport.loan = loan;
    transport.release = release;
    return transport;
}

} // namespace

const ipcmark_transport boost_shm = describe();
