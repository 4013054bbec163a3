// The functions of the contract: those that every row has, and those of the hot path of each.
#pragma once

#include <ipcmark/transport.h>

namespace cyclonedds_module {

int check_options(const ipcmark_transport *transport, const ipcmark_option *options, uint32_t option_count,
                  ipcmark_error *error);
int open_end(const ipcmark_transport *transport, const ipcmark_settings *settings,
             ipcmark_session *session, void **opened, ipcmark_error *error);
void close_end(void *end);

// Over UDP, copied in and out.
namespace copied {
int publish(void *end, void *message, size_t len, ipcmark_error *error);
int take(void *end, const void **message, size_t *len, ipcmark_error *error);
int wait(void *end, uint64_t timeout_ns, ipcmark_error *error);
} // namespace copied

// In iceoryx's shared memory, written and read where it lies.
namespace in_place {
int loan(void *end, size_t len, void **room, ipcmark_error *error);
int publish(void *end, void *message, size_t len, ipcmark_error *error);
int take(void *end, const void **message, size_t *len, ipcmark_error *error);
int release(void *end, const void *message, ipcmark_error *error);
int wait(void *end, uint64_t timeout_ns, ipcmark_error *error);
} // namespace in_place

} // namespace cyclonedds_module
