// An endpoint of any row, and the common code for sending.
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

    // One step of the request in progress.
    int go_on_sending(ipcmark_error *error);

    // Lets the library work while there is no room.
    int go_on_waiting(ipcmark_error *error) const;

    Connection connection;
    ipcmark::Patience patience; // With a request in progress.
    size_t room = 0;
    void *message = nullptr;                                 // Room for a taken message.
    ucs_status_ptr_t sending = nullptr, receiving = nullptr; // Requests in progress.
};

// Publishes a message; `begin` is the library's call, which returns a request.
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
        return self.go_on_waiting(error);
    }
    if (result != IPCMARK_DONE)
        return result;
    if (self.sending)
        return IPCMARK_WOULD_BLOCK;
    self.connection.flow.count_sent();
    return IPCMARK_DONE;
}

} // namespace ucx
