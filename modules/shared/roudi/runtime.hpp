// iceoryx's runtime in this process: its registration with the daemon, and calls that the daemon answers.
//
// The library waits for ever for the answer of a daemon that has died, and ends the process where it cannot ask.
// So such calls run in a thread of their own, which is abandoned if they do not return.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace ipcmark {

// Runs `body` in a thread for as long as `is_wanted`, and passes on what it throws. False if it did not return:
// `reason` is then the library's error, or empty if the call was not wanted any more. What the body uses must
// outlive the caller.
bool call_daemon(std::function<void()> body, const std::function<bool()> &is_wanted, std::string &reason);

// Registers this process under a name that no other has. To be called in the body of call_daemon.
void register_runtime(const std::string &name);

// The same, in a call of eight seconds at most. False if the daemon did not answer.
bool open_runtime(const std::string &name);

// Takes the registration back, so that the process can register again, with another daemon too. False if the
// daemon did not answer within two seconds.
bool close_runtime();

// Forgets a registration with a daemon that is dead, which cannot be taken back.
void abandon_runtime();

// The name of an end's registration.
std::string registration_name(const std::string &session, bool leads, uint32_t follower = 0);

} // namespace ipcmark
