// What differs between two MPI libraries: how their launcher is called, and what makes them take a carrier.
#pragma once

#include <ipcmark/transport.h>

#include <string>
#include <vector>

namespace ipcmark::mpi {

// Environment variables: "NAME=value".
using Variables = std::vector<std::string>;

struct Library {
    const char *name;                   // "Open MPI"
    std::vector<const char *> launcher; // The launcher and its arguments, up to the number of ranks.
    Variables launcher_variables;       // Also of the launcher.
    const char *remedy;                 // What to install where the launcher is not there.
    // Files in /dev/shm that the library keeps under their names, though both ranks have them mapped.
    const char *segments;
    // Notes what the library chose, once it runs. May be null.
    void (*note)(ipcmark_session *session);
};

// The context of a transport: one carrier of one library.
struct Way {
    const Library *library;
    Variables variables; // Set in each rank before MPI_Init.
};

// The version that the library says it has: "4.1.4". It can be asked before MPI_Init.
const char *library_version();

// A description of the transport `way`, of which one end can be open in a process.
ipcmark_transport describe(const char *name, const char *summary, const Way &way, uint32_t carrier);

} // namespace ipcmark::mpi
