// iceoryx's runtime: this process's registration with the daemon.
#pragma once

#include <cstdint>
#include <string>

namespace ipcmark {

// Registers this process under a name that no other has. False where the daemon has not answered
// within eight seconds, because it is gone.
bool open_runtime(const std::string &name);

// The same, for a thread that may wait for ever.
void register_runtime(const std::string &name);

// Takes the registration back, so that the process can register again, with another daemon too. The
// daemon must answer: false where it has not done so within two seconds, because it is gone.
bool close_runtime();

// Removes the names that killed processes of a session have left.
void remove_registration(const std::string &session);

// The name of an end's registration; followers are numbered.
std::string registration_name(const std::string &session, bool leads, uint32_t follower = 0);

// Forgets a registration with a daemon that is dead, which cannot be taken back.
void abandon_runtime();

} // namespace ipcmark
