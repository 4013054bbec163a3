// Failures inside a module that throws, and how they become errors of the contract.
#pragma once

#include <ipcmark/transport.h>

#include <exception>
#include <new>
#include <string>

namespace ipcmark {

// Something that cannot be done: "cannot {operation} {object}: {cause}; {remedy}".
struct Failure {
    std::string operation, object, cause, remedy;
};

// A function of the session did not return IPCMARK_DONE, and has filled in the error.
struct Stopped {
    int result;
};

inline void proceed(int result) {
    if (result != IPCMARK_DONE)
        throw Stopped{result};
}

// Runs what may throw; nothing thrown leaves it. `end` is what is being opened: "an end of X".
template <typename Body> int guarded(ipcmark_error *error, const char *end, Body body) noexcept {
    try {
        body();
        return IPCMARK_DONE;
    } catch (const Stopped &stopped) {
        return stopped.result;
    } catch (const Failure &failure) {
        return ipcmark_fail(error, failure.operation.c_str(), failure.object.c_str(),
                            failure.cause.c_str(), failure.remedy.c_str());
    } catch (const std::bad_alloc &) {
        return ipcmark_fail(error, "open", end, "there is no memory left", nullptr);
    } catch (const std::exception &exception) {
        return ipcmark_fail(error, "open", end, exception.what(), nullptr);
    }
}

} // namespace ipcmark
