// This process as a rank of an MPI job of two. MPI can be started only once in a process, and ends with it; so does the
// launcher, which the leader keeps.
#pragma once

#include "shared/mpi/library.hpp"

namespace ipcmark::mpi {

// Makes the process a rank, once, and waits until the other one is its partner: MPI_Init, and a message in each
// direction.
int join(const Way &way, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error);

// The number of the other rank.
int partner();

// Called after a message that could not complete: its buffer may still be read, so nothing can be opened any more.
void spoil();

// Fills in the error with the library's message.
int fail(ipcmark_error *error, const char *operation, int code);

} // namespace ipcmark::mpi
