// iceoryx's runtime in this process: its registration with the daemon, and calls that the daemon answers.
//
// The library waits forever for the answer of a dead daemon, and ends the process if it cannot call the daemon. So such
// calls run in a separate thread, which is abandoned if they do not return.
#pragma once

#include "shared/cpp/within.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace ipcmark {

// Runs `body` in a thread while `is_wanted` is true, and rethrows its exceptions. False if it did not return: `reason`
// is then the library's error, or empty if the call was no longer wanted. Objects used by the body must outlive the
// caller.
bool call_daemon(std::function<void()> body, const std::function<bool()> &is_wanted, std::string &reason);

// Registers this process under a unique name. Must be called in the body of call_daemon.
void register_runtime(const std::string &name);

// The same, in a call of its own. False if the daemon did not answer in time.
bool open_runtime(const std::string &name, const Deadline &deadline);

// Removes the registration, so that the process can register again, even with another daemon. False if the daemon did
// not answer within two seconds.
bool close_runtime();

// Drops a registration with a dead daemon, which cannot be removed.
void abandon_runtime();

// The name of an endpoint's registration.
std::string registration_name(const std::string &session, bool leads, uint32_t follower = 0);

} // namespace ipcmark
