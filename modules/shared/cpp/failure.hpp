// Failures that are thrown inside a module, and converted to errors of the contract before they
// leave it.
#pragma once

#include <ipcmark/transport.h>

#include <exception>
#include <new>
#include <string>

namespace ipcmark {

// An operation that failed: "cannot {operation} {object}: {cause}; {remedy}".
struct Failure {
    std::string operation, object, cause, remedy;
};

// A call that did not return IPCMARK_DONE, and has filled in the error.
struct Reported {
    int result;
};

inline void require(int result) {
    if (result != IPCMARK_DONE)
        throw Reported{result};
}

// Runs a body that may throw; no exception escapes. `end` names the object that is being opened:
// "an end of X".
template <typename Body> int guarded(ipcmark_error *error, const char *end, Body body) noexcept {
    try {
        body();
        return IPCMARK_DONE;
    } catch (const Reported &reported) {
        return reported.result;
    } catch (const Failure &failure) {
        return ipcmark_fail(error, failure.operation.c_str(), failure.object.c_str(), failure.cause.c_str(),
                            failure.remedy.c_str());
    } catch (const std::bad_alloc &) {
        return ipcmark_fail(error, "open", end, "there is no memory left", nullptr);
    } catch (const std::exception &exception) {
        return ipcmark_fail(error, "open", end, exception.what(), nullptr);
    }
}

} // namespace ipcmark
