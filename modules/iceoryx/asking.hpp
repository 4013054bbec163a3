// Calls that ask iceoryx's daemon. The library waits for ever for the answer of a daemon that has died,
// and ends the process where it cannot ask: so such calls run in a thread of their own, which stays
// behind where they do not come back.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace ipcmark {

// Runs `body`, as long as `wanted` says so, and passes on what it throws. False where it does not come
// back; `reason` then says why, or is empty where it was not wanted any more. What the body uses must
// live on without the caller.
bool ask_daemon(std::function<void()> body, const std::function<bool()> &wanted, std::string &reason);

// The same with a limit to the time it may take.
bool ask_daemon(std::function<void()> body, std::chrono::milliseconds limit);

} // namespace ipcmark
