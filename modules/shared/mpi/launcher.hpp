// The launcher of an MPI library, started by the leader with one agent for each rank. An agent passes on the variables
// with which its launcher makes a process a rank, and then only stays alive: for the library, the worker that takes
// over these variables is the rank.
#pragma once

#include "shared/cpp/program.hpp"
#include "shared/mpi/library.hpp"

namespace ipcmark::mpi {

// Removes the variables of a launcher from this process's environment, for ipcmark may itself run under one, and those
// of the library and its carriers.
void forget_launchers();

// Takes over the launcher's variables from `environment`, a file of NUL-terminated texts.
int take_over(int environment, ipcmark_error *error);

class Launcher {
  public:
    // Starts it and waits until every rank has its file in `directory`.
    int start(const Library &library, const char *directory, uint32_t ranks, const Deadline &deadline,
              ipcmark_error *error);

    // Opens the file of a rank for reading and removes its name. -1 with errno.
    int environment(uint32_t rank) const;

    // Lets the agents end, and with them the launcher, which removes its own files. It is killed if that takes long.
    void stop();

  private:
    std::string own_files() const; // A directory.
    int make_hold(ipcmark_error *error);

    Program program; // Prints the output of the agents.
    std::string directory;
    int hold = -1; // The agents end when nobody has it open for writing.
};

} // namespace ipcmark::mpi
