// This process as a rank of an MPI job of two. MPI can be started once in a process, and ends with it: so does the
// launcher, which the leader keeps.
#pragma once

#include "shared/mpi/library.hpp"

namespace ipcmark::mpi {

// Makes the process a rank, once, and waits until the other one is its partner: MPI_Init, and a message each way.
int join(const Way &way, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error);

// The number of the other rank.
int partner();

// After a message that could not be ended: its buffer may still be read, so nothing can be opened any more.
void spoil();

// Fills in the error with what the library says.
int fail(ipcmark_error *error, const char *operation, int code);

} // namespace ipcmark::mpi
