// An end of any row, and what sending has in common.
#pragma once

#include "connection.hpp"

#include <cstdlib>

namespace ucx {

constexpr uint64_t LONGEST_SLEEP_NS = 100000000;

struct End {
    End() = default;
    End(const End &) = delete;
    End &operator=(const End &) = delete;
    ~End();

    // Connects it, with room for a message.
    int open(const Way &way, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error);

    // One step of the request under way.
    int go_on_sending(ipcmark_error *error);

    Connection connection;
    bool sleeps = false;
    size_t room = 0;
    void *message = nullptr;                                 // Room for a message taken.
    ucs_status_ptr_t sending = nullptr, receiving = nullptr; // Requests under way.
};

// Hands a message over; `begin` is the library's call, which gives a request.
template <typename Begin> int publish_by(Begin begin, End &self, ipcmark_error *error) {
    int result = IPCMARK_DONE;
    if (self.sending) {
        result = self.go_on_sending(error);
    } else if (self.connection.flow.has_room()) {
        self.sending = begin();
        if (UCS_PTR_IS_ERR(self.sending)) {
            const auto status = UCS_PTR_STATUS(self.sending);
            self.sending = nullptr;
            return fail(error, "send", "a message of UCX", status);
        }
    } else {
        // The library works only within its calls, and the other end may wait for some of its work.
        self.connection.progress();
        return IPCMARK_WOULD_BLOCK;
    }
    if (result != IPCMARK_DONE)
        return result;
    if (self.sending)
        return IPCMARK_WOULD_BLOCK;
    self.connection.flow.count_sent();
    return IPCMARK_DONE;
}

} // namespace ucx
