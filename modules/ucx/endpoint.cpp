#include "endpoint.hpp"

#include "shared/c/space.h"

namespace ucx {

namespace {

constexpr size_t PAGE = 4096;
constexpr size_t SHARED_BYTES = 16u << 20; // An upper bound of a worker's shared memory.

int make_room(End &end, const ipcmark_settings &settings, ipcmark_error *error) {
    const size_t bytes = (settings.payload + PAGE - 1) / PAGE * PAGE;
    end.message = std::aligned_alloc(PAGE, bytes);
    if (!end.message)
        return ipcmark_fail(error, "allocate", "a message", "there is no memory left", nullptr);
    ipcmark_touch(end.message, bytes);
    end.room = settings.payload;
    end.patience = ipcmark::Patience(settings.wait);
    return IPCMARK_DONE;
}

} // namespace

// A request that does not end may still use its memory, so the memory stays allocated.
End::~End() {
    if (receiving) {
        ucp_request_cancel(connection.worker, receiving);
        if (!connection.end_request(receiving))
            message = nullptr;
    }
    if (sending)
        connection.end_request(sending);
    std::free(message);
}

int End::open(const Way &way, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    int result = make_room(*this, settings, error);
    if (result == IPCMARK_DONE && !way.devices)
        result = ipcmark_check_space(SHARED_BYTES, error);
    return result == IPCMARK_DONE ? connection.open(way, settings, session, error) : result;
}

// A sleeping receiver must get the time to fetch the message.
int End::go_on_sending(ipcmark_error *error) {
    connection.progress();
    const auto status = ucp_request_check_status(sending);
    if (status == UCS_INPROGRESS)
        return patience.is_over() ? connection.sleep_while_sending(LONGEST_SLEEP_NS, error) : IPCMARK_DONE;
    patience.renew();
    ucp_request_free(sending);
    sending = nullptr;
    return status == UCS_OK ? IPCMARK_DONE : fail(error, "send", "a message of UCX", status);
}

// The library works only within its calls, and the other end may wait for some of its work.
int End::go_on_waiting(ipcmark_error *error) const {
    connection.progress();
    if (!connection.flow.is_abandoned())
        return IPCMARK_WOULD_BLOCK;
    ipcmark_fail(error, "send", "a message of UCX", "the other end is closed", nullptr);
    return IPCMARK_PEER_GONE;
}

} // namespace ucx
