// What the two transports over AlephZero share: where their files are, how large, and errors.
#pragma once

#include "../space.h"

#include <ipcmark/transport.h>

#include <string>

#include <a0/err.h>
#include <a0/file.h>

extern const ipcmark_transport alephzero_pubsub;
extern const ipcmark_transport alephzero_rpc;

namespace alephzero {

constexpr const char *LIBRARY_VERSION = "0.3.17";

// The directory of a session's files: a name of its own in /dev/shm. The library reads its root from
// the environment.
std::string use_root(const char *session);

// Removes the directory with its files. Who has opened them keeps them.
void remove_root(const char *session);

// Options of a file with an arena of so many bytes.
a0_file_options_t file_options(size_t bytes);

int fail(ipcmark_error *error, a0_err_t why, const char *operation, const char *object);

// A description with everything that both have in common.
ipcmark_transport describe(const char *name, const char *summary, uint32_t waits, uint32_t flags);

} // namespace alephzero
