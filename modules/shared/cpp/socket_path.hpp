// The address of a program that a session starts: a Unix socket in the session's directory.
#pragma once

#include <ipcmark/transport.h>

#include <string>

#include <sys/un.h>

namespace ipcmark {

// A path in the directory that no other endpoint of this process uses: a worker can have several endpoints at the same
// time.
inline int choose_socket(const std::string &directory, const char *stem, std::string *path, ipcmark_error *error) {
    static unsigned chosen;
    *path = directory + "/" + stem + "-" + std::to_string(chosen++);
    if (path->size() < sizeof sockaddr_un{}.sun_path)
        return IPCMARK_DONE;
    return ipcmark_fail(error, "listen at", path->c_str(), "the path is too long for a socket", nullptr);
}

} // namespace ipcmark
