#include "leftovers.hpp"

#include "participant.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fastdds_module {

namespace {

const std::string PLACE = "/dev/shm/", SEGMENTS = "fastrtps_", PORT = "fastrtps_port";

// A lock that the creator of an object holds while it lives, and one that all readers of a port hold.
constexpr const char *LOCKS[] = {"_el", "_sl"};

bool starts_with(const std::string &text, const std::string &start) {
    return text.compare(0, start.size(), start) == 0;
}

void cut_end(std::string &text, const std::string &end) {
    if (text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0)
        text.resize(text.size() - end.size());
}

// The object that a file belongs to: x for x, x_el, x_sl and sem.x_mutex.
std::string object_of(std::string file) {
    if (starts_with(file, "sem."))
        file.erase(0, 4);
    for (const char *end : {"_mutex", LOCKS[0], LOCKS[1]})
        cut_end(file, end);
    return file;
}

// Segments have random names; ports are derived from the session's name. Other programs use the ports of their domains,
// which are lower.
bool may_be_ours(const std::string &object) {
    if (starts_with(object, PORT))
        return std::strtoul(object.c_str() + PORT.size(), nullptr, 10) >= LEAST_SHM_PORT;
    return starts_with(object, SEGMENTS);
}

// True if a lock is free, or does not exist. Another user's lock is not tried, because trying it blocks others from it.
bool is_free(const std::string &lock) {
    const int file = open(lock.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return errno == ENOENT;
    struct stat status;
    const bool own = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
    const bool free = own && flock(file, LOCK_EX | LOCK_NB) == 0;
    close(file);
    return free;
}

bool is_dead(const std::string &object) {
    return is_free(PLACE + object + LOCKS[0]) && is_free(PLACE + object + LOCKS[1]);
}

} // namespace

// A creator that has not taken its lock yet has the file open or mapped: then ipcmark does not remove it.
int name_leftovers(void (*file)(void *list, const char *path), void *list, ipcmark_error *error) {
    return guarded(error, [&] {
        for (const auto &entry : std::filesystem::directory_iterator(PLACE)) {
            const auto object = object_of(entry.path().filename());
            if (may_be_ours(object) && is_dead(object))
                file(list, entry.path().c_str());
        }
    });
}

} // namespace fastdds_module
