// Aeron's media driver, started and ended with an endpoint: a separate process, or threads of this one.
#pragma once

#include "shared/cpp/program.hpp"

#include <string>

#include <aeronmd.h>

namespace aeron {

// Set only in the driver: the user's own variables AERON_… are ignored.
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
    int start(const DriverSettings &settings, const ipcmark::Deadline &deadline, ipcmark_error *error);

    // DONE unless the driver was a process and has ended.
    int check(ipcmark_error *error) const;

  private:
    int start_process(const DriverSettings &settings, const ipcmark::Deadline &deadline, ipcmark_error *error);
    int start_threads(const DriverSettings &settings, ipcmark_error *error);
    int await_process(const ipcmark::Deadline &deadline, ipcmark_error *error);
    bool has_ended() const;

    ipcmark::Program program;
    int image = -1; // The program's file, in memory.
    aeron_driver_context_t *context = nullptr;
    aeron_driver_t *threads = nullptr;
    std::string directory;
};

// DONE if a media driver can start as a process here.
int find_processors(ipcmark_error *error);

// The path at which clients find the driver of a directory.
std::string place_in(const std::string &directory);

// Reports a failed Aeron call with the calling thread's last error message.
int fail(ipcmark_error *error, const char *operation, const char *object);

} // namespace aeron
