// Shared code of the transports over Boost.Interprocess: the names of their objects, and errors.
#pragma once

#include <ipcmark/transport.h>

#include <new>
#include <string>

#include <boost/interprocess/exceptions.hpp>

extern const ipcmark_transport boost_mq;
extern const ipcmark_transport boost_shm;

// The name of a direction's object. Direction 0 is from the leader to the follower.
inline std::string object_name(const char *session, int direction) {
    return std::string(session) + (direction == 0 ? "-0" : "-1");
}

// Removes the names of the objects, after both ends have opened them.
void remove_names(const char *session);

// Runs a body that may throw; no exception escapes.
template <typename Body>
int guarded(ipcmark_error *error, const char *operation, const char *object, Body body) noexcept {
    try {
        return body();
    } catch (const boost::interprocess::interprocess_exception &exception) {
        error->number = exception.get_native_error();
        return ipcmark_fail(error, operation, object, exception.what(), nullptr);
    } catch (const std::bad_alloc &) {
        return ipcmark_fail(error, operation, object, "there is no memory left", nullptr);
    } catch (...) {
        return ipcmark_fail(error, operation, object, "an exception of an unknown type", nullptr);
    }
}
