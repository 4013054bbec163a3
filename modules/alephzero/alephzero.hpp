// Shared code of the transports over AlephZero: the directory and size of their files, errors, and descriptions.
#pragma once

#include <ipcmark/transport.h>

#include <string>

#include <a0/err.h>
#include <a0/file.h>

extern const ipcmark_transport alephzero_pubsub;
extern const ipcmark_transport alephzero_rpc;

namespace alephzero {

constexpr const char *LIBRARY_VERSION = "0.3.17";

// Makes the library use the session's own directory in /dev/shm, by setting an environment variable that it reads.
void use_directory(const char *session);

// Makes the directory, for this user alone; fails if somebody else has made it, whose links the library would follow.
int make_directory(const char *session, ipcmark_error *error);

// Removes the directory with its files. Endpoints that have opened the files keep them.
void remove_directory(const char *session);

// The options of a file with an arena of `bytes`, for this user alone.
a0_file_options_t file_options(size_t bytes);

int fail(ipcmark_error *error, a0_err_t why, const char *operation, const char *object);

// A description without the functions that differ between the transports.
ipcmark_transport describe(const char *name, const char *summary, uint32_t waits, uint32_t flags);

} // namespace alephzero
