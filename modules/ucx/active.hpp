// An endpoint that sends and receives active messages of UCX.
#pragma once

#include "endpoint.hpp"

namespace ucx {

// Functions of a transport: see ipcmark_transport.
int open_active(const ipcmark_transport *transport, const ipcmark_settings *settings, ipcmark_session *session,
                void **opened, ipcmark_error *error);
void close_active(void *end);
int publish_active(void *end, void *message, size_t len, ipcmark_error *error);
int take_active(void *end, const void **message, size_t *len, ipcmark_error *error);
int release_active(void *end, const void *message, ipcmark_error *error);
int wait_active(void *end, uint64_t timeout_ns, ipcmark_error *error);

} // namespace ucx
