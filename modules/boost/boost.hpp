// What the two transports over Boost.Interprocess share: names, space, and exceptions that become
// errors.
#pragma once

#include <ipcmark/transport.h>

#include "../space.h"

#include <new>
#include <string>

#include <boost/interprocess/exceptions.hpp>

extern const ipcmark_transport boost_mq;
extern const ipcmark_transport boost_shm;

// The name of a direction's object: what the leader sends has number 0.
inline std::string object_name(const char *session, int direction) {
    return std::string(session) + (direction == 0 ? "-0" : "-1");
}

// Removes the names that a session killed while it opened may have left.
int remove_names(const ipcmark_transport *, const char *session, ipcmark_error *);

// Runs what may throw; nothing thrown leaves it.
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
