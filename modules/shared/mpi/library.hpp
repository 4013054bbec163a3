// The differences between two MPI libraries: the command of their launcher, and the settings that select a carrier.
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
    const char *remedy;                 // What to install if the launcher is missing.
    // Files in /dev/shm that keep their names in the library, though both ranks have mapped them.
    const char *segments;
    // Notes the library's choices, once it runs. May be null.
    void (*note)(ipcmark_session *session);
};

// The context of a transport: one carrier of one library.
struct Way {
    const Library *library;
    Variables variables; // Set in each rank before MPI_Init.
};

// The version that the library reports: "4.1.4". It can be read before MPI_Init.
const char *library_version();

// A description of the transport `way`; a process can have only one open endpoint of it.
ipcmark_transport describe(const char *name, const char *summary, const Way &way, uint32_t carrier);

} // namespace ipcmark::mpi
