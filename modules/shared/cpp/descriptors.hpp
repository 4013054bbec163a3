// Descriptors that a follower receives from its leader.
#pragma once

#include <ipcmark/transport.h>

#include <cstddef>

#include <unistd.h>

namespace ipcmark {

// Receives N descriptors from the leader; if it sends fewer, all are closed, and `error` says that `operation` on
// `object` failed because of `otherwise`.
template <size_t N>
int receive_descriptors(ipcmark_session *session, int (&descriptors)[N], const char *operation, const char *object,
                        const char *otherwise, ipcmark_error *error) {
    char frame[8];
    size_t len = sizeof frame, count = N;
    if (const int result = session->receive(session, 0, frame, &len, descriptors, &count, error))
        return result;
    if (count == N)
        return IPCMARK_DONE;
    for (size_t i = 0; i < count; i++)
        close(descriptors[i]);
    return ipcmark_fail(error, operation, object, otherwise, nullptr);
}

} // namespace ipcmark
