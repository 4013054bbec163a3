// Aeron's media driver, started for an end and ended with it: a process of its own, or threads of this one.
#pragma once

#include "shared/cpp/program.hpp"

#include <string>

#include <aeronmd.h>

namespace aeron {

// Set in the driver alone: the user's own variables AERON_… do not count.
struct DriverSettings {
    bool is_process;
    std::string directory;    // Made and removed with the driver, for this user alone.
    ipcmark::Texts variables; // AERON_NAME=VALUE
};

class Driver {
  public:
    Driver() = default;
    Driver(const Driver &) = delete;
    Driver &operator=(const Driver &) = delete;
    ~Driver();

    // Starts it, and waits until clients can connect.
    int start(const DriverSettings &settings, ipcmark_error *error);

    // DONE unless it was a process and has ended.
    int check(ipcmark_error *error) const;

  private:
    int start_process(const DriverSettings &settings, ipcmark_error *error);
    int start_threads(const DriverSettings &settings, ipcmark_error *error);
    int await_process(ipcmark_error *error);
    bool has_ended() const;

    ipcmark::Program program;
    int image = -1; // The program's file, in memory.
    aeron_driver_context_t *context = nullptr;
    aeron_driver_t *threads = nullptr;
    std::string directory;
};

// Where clients find the driver of a directory.
std::string place_in(const std::string &directory);

// A call of Aeron's that failed; its words are those of the calling thread's last error.
int fail(ipcmark_error *error, const char *operation, const char *object);

} // namespace aeron
