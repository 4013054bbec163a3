// The files in /dev/shm that killed processes leave under names chosen by the library: segments and ports of the
// shared-memory transport, with their locks and mutexes.
#pragma once

#include <ipcmark/transport.h>

namespace fastdds_module {

// Calls file(list, path) for each of them whose locks nobody holds.
int name_leftovers(void (*file)(void *list, const char *path), void *list, ipcmark_error *error);

} // namespace fastdds_module
