// What a killed session leaves in /dev/shm beyond the names that ipcmark itself removes: segments and
// ports of the shared-memory transport.
#include "participant.hpp"
#include "transport.hpp"

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fastdds_module {

namespace {

const std::string PLACE = "/dev/shm/", SEGMENT = "fastrtps_", PORT = "fastrtps_port", LOCK = "_el";

bool starts_with(const std::string &text, const std::string &start) {
    return text.compare(0, start.size(), start) == 0;
}

bool ends_with(const std::string &text, const std::string &end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Whether this user made the file, and not just now: its maker takes the lock a moment later.
bool is_settled(const std::string &path) {
    struct stat status;
    return stat(path.c_str(), &status) == 0 && status.st_uid == geteuid() &&
           time(nullptr) - status.st_ctime > 2;
}

// Whether nobody holds the lock that a maker holds while it lives. Others that look may have removed
// a lock that nobody held.
bool is_dead(const std::string &lock) {
    const int file = open(lock.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno == ENOENT;
    const bool dead = flock(file, LOCK_EX | LOCK_NB) == 0;
    close(file);
    return dead;
}

void remove_object(const std::string &name) {
    for (const auto &file : {name, name + LOCK, name + "_sl", "sem." + name + "_mutex"})
        unlink((PLACE + file).c_str());
}

// Where a session writes down its segments, for their names are random.
std::string list_of(const std::string &session) {
    return PLACE + session + "-segments";
}

// Names in what this process maps: one a segment.
std::set<std::string> mapped_segments() {
    std::set<std::string> found;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        const auto at = line.find(PLACE + SEGMENT);
        const auto name = at == std::string::npos ? "" : line.substr(at + PLACE.size());
        if (!name.empty() && !starts_with(name, PORT))
            found.insert(name);
    }
    return found;
}

void remove_listed(const std::string &session) {
    std::ifstream list(list_of(session));
    for (std::string name; std::getline(list, name);)
        if (starts_with(name, SEGMENT) && name.find('/') == std::string::npos)
            remove_object(name);
    forget_segments(session);
}

// Segments have random names and ports those that follow from a session's. Other programs use the
// ports of their domains, which are lower.
bool may_be_ours(const std::string &file) {
    if (starts_with(file, PORT))
        return std::strtoul(file.c_str() + PORT.size(), nullptr, 10) >= LEAST_SHM_PORT;
    return starts_with(file, SEGMENT);
}

void remove_dead() {
    std::error_code ignored;
    std::vector<std::string> found;
    for (const auto &entry : std::filesystem::directory_iterator(PLACE, ignored))
        found.push_back(entry.path().filename());
    for (const auto &file : found)
        if (may_be_ours(file) && !ends_with(file, LOCK) && is_settled(PLACE + file) &&
            is_dead(PLACE + file + LOCK))
            remove_object(file);
}

// Of a session that is known to be dead.
void remove_session(const std::string &name) {
    std::error_code ignored;
    std::filesystem::remove_all(pool_directory(name), ignored);
    for (uint32_t n = 0; n < PORTS_A_SESSION; n++)
        remove_object(PORT + std::to_string(shm_ports(name) + n));
    remove_listed(name);
}

} // namespace

void list_segments(const std::string &session) {
    std::string names;
    for (const auto &name : mapped_segments())
        names += name + "\n";
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
    const int file = open(list_of(session).c_str(), flags, 0600);
    if (file < 0)
        return;
    // In one piece, for the other ends write there too. Without the list, what a killed end leaves is
    // removed by a later session.
    static_cast<void>(!write(file, names.data(), names.size()));
    close(file);
}

void forget_segments(const std::string &session) {
    unlink(list_of(session).c_str());
}

int remove_leftovers(const ipcmark_transport *, const char *name, ipcmark_error *) {
    if (*name)
        remove_session(name);
    remove_dead();
    return IPCMARK_DONE;
}

} // namespace fastdds_module
