// A program that a session needs in addition to its endpoints: a daemon, a launcher.
#pragma once

#include "shared/cpp/within.hpp"

#include <ipcmark/transport.h>

#include <chrono>
#include <string>
#include <vector>

#include <sched.h>
#include <sys/types.h>

namespace ipcmark {

using Texts = std::vector<std::string>;

struct Command {
    std::string what;   // "iceoryx's daemon", for errors.
    Texts words;        // The program, which is looked up in PATH, and its arguments.
    Texts variables;    // NAME=VALUE, added to those of this process.
    int parents_death;  // The signal that it receives if this process dies.
    const char *remedy; // For a program that is not installed.
};

// A child of this process, in its own process group. It may use every processor that ipcmark may, though this thread is
// pinned: with a single processor, a polling endpoint would starve it.
class Program {
  public:
    Program() = default;
    Program(const Program &) = delete;
    Program &operator=(const Program &) = delete;
    ~Program() { stop(std::chrono::milliseconds(0)); }

    int start(const Command &command, ipcmark_error *error);

    // Waits until it has printed `mark` that many times; `otherwise` is the cause if it does not in time.
    int await(const char *mark, size_t times, const Deadline &deadline, const char *otherwise, ipcmark_error *error);

    // The read end of its standard output and error, which hangs up when it has ended; -1 before start and after stop.
    int output() const { return printed; }

    pid_t id() const { return pid; }

    // Waits for this time until it ends by itself. Then it is asked to end, and if that takes long, killed with its
    // group. Its output stays open. The status is that of waitpid().
    int end(std::chrono::milliseconds by_itself);

    // Ends it, and closes its output.
    void stop(std::chrono::milliseconds by_itself);

  private:
    int spawn(int standard_output, ipcmark_error *error);
    int fail_ended(const std::string &said, ipcmark_error *error);

    Command command;
    pid_t pid = 0;
    int printed = -1;
};

// The processors of the process that started this one, which is not pinned.
cpu_set_t usable_processors();

// DONE if a program of this name is in a directory of PATH; otherwise the error contains the remedy.
int find_program(const char *name, const char *remedy, ipcmark_error *error);

} // namespace ipcmark
