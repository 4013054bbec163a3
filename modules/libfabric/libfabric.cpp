// libfabric-shm: tagged messages of libfabric between two processes, by its provider shm.
//
// - Mechanism: fi_tinject or fi_tsend, and fi_trecv, each with fi_cq_read until it is done. No thread of the library.
// - Kernel objects: a file of each end in /dev/shm, which the other one maps.
// - Copies a message: two, into a buffer in shared memory and out of it; one, by process_vm_readv(2), beyond 4 KiB.
// - Blocks: never; the provider has nothing to sleep on.
// - Limits: two ends on one host. The library works only within its calls.
#include "connection.hpp"

#include "shared/cpp/description.hpp"

#include <cstdlib>
#include <memory>
#include <new>
#include <string>

namespace libfabric {

namespace {

constexpr size_t PAGE = 4096;

const ipcmark_option_spec OPTIONS[] = {
    {"cma", "on|off", "on", "large messages are read from the sender's memory where the kernel allows it"},
};

struct Free {
    void operator()(void *memory) const { std::free(memory); }
};

struct End {
    bool is_begun = false;  // A message was passed to the library that has not been published.
    bool is_posted = false; // A receive was posted whose message has not been taken.
    size_t room = 0;
    std::unique_ptr<void, Free> message; // Room for a taken message, freed after the connection, which refers to it.
    Connection connection;
};

// Set-up and teardown ----------------------------------------------------------------------------

int open_end(const ipcmark_transport *, const ipcmark_settings *settings, ipcmark_session *session, void **opened,
             ipcmark_error *error) {
    std::unique_ptr<End> end(new (std::nothrow) End);
    const size_t bytes = (settings->payload + PAGE - 1) / PAGE * PAGE;
    if (end)
        end->message.reset(std::aligned_alloc(PAGE, bytes));
    if (!end || !end->message)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", nullptr);
    ipcmark_touch(end->message.get(), bytes);
    end->room = settings->payload;
    const int result = end->connection.open(*settings, session, error);
    if (result == IPCMARK_DONE)
        *opened = end.release();
    return result;
}

void close_end(void *end) {
    delete static_cast<End *>(end);
}

// The hot path -----------------------------------------------------------------------------------

int publish(void *end, void *message, size_t len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    auto &connection = self.connection;
    int result = IPCMARK_DONE;
    if (!self.is_begun && connection.flow.has_room()) {
        result = connection.send(message, len, MESSAGE, error);
        self.is_begun = result == IPCMARK_DONE;
    } else if (!self.is_begun || connection.is_sending) {
        // The library works only within its calls, and the other end may wait for some of its work.
        result = connection.progress(error);
    }
    if (result != IPCMARK_DONE)
        return result;
    if (!self.is_begun || connection.is_sending)
        return IPCMARK_WOULD_BLOCK;
    self.is_begun = false;
    connection.flow.count_sent();
    return IPCMARK_DONE;
}

int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    auto &connection = self.connection;
    int result = IPCMARK_DONE;
    if (!self.is_posted) {
        result = connection.receive(self.message.get(), self.room, MESSAGE, error);
        self.is_posted = connection.is_receiving;
    }
    if (result == IPCMARK_DONE && connection.is_receiving)
        result = connection.progress(error);
    if (result != IPCMARK_DONE)
        return result;
    if (!self.is_posted || connection.is_receiving)
        return IPCMARK_WOULD_BLOCK;
    self.is_posted = false;
    connection.flow.count_released();
    *message = self.message.get();
    *len = connection.received;
    return IPCMARK_DONE;
}

// The definition ---------------------------------------------------------------------------------

const char *library_version() {
    static const uint32_t version = fi_version();
    static const std::string text = std::to_string(FI_MAJOR(version)) + "." + std::to_string(FI_MINOR(version));
    return text.c_str();
}

ipcmark_transport describe() {
    auto transport = ipcmark::describe_transport(
        "libfabric-shm",
        "tagged messages of libfabric's provider shm, two copies; one of large ones, by process_vm_readv", IPCMARK_SPIN,
        IPCMARK_IN_MEMORY);
    ipcmark::set_options(transport, OPTIONS);
    transport.open = open_end;
    transport.publish = publish;
    transport.take = take;
    transport.close = close_end;
    return transport;
}

const ipcmark_transport shm = describe();
const ipcmark_transport *const TRANSPORTS[] = {&shm};

} // namespace

} // namespace libfabric

const struct ipcmark_module *ipcmark_module(void) {
    static const auto module = ipcmark::describe_module("libfabric", libfabric::library_version, libfabric::TRANSPORTS);
    return &module;
}
