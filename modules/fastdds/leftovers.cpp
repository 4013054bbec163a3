// What a killed session leaves in /dev/shm beyond the names that ipcmark itself removes: segments and
// ports of the shared-memory transport.
#include "participant.hpp"
#include "transport.hpp"

#include <cstdlib>
#include <cstring>
#include <filesystem>

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

// Whether this user made the file, and nobody holds the lock that its maker holds while it lives.
bool is_dead(const std::string &lock) {
    const int file = open(lock.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    struct stat status;
    const bool dead = fstat(file, &status) == 0 && status.st_uid == geteuid() &&
                      flock(file, LOCK_EX | LOCK_NB) == 0;
    close(file);
    return dead;
}

// Whether a port's file is one of this session's, or of any session's where the name is empty: other
// programs use the ports of their domains, which are lower.
bool is_ours(const std::string &file, const std::string &session) {
    const auto port = std::strtoul(file.c_str() + PORT.size(), nullptr, 10);
    const auto first = shm_ports(session);
    return session.empty() ? port >= LEAST_SHM_PORT
                           : port >= first && port < first + PORTS_A_SESSION;
}

void remove_object(const std::string &name) {
    for (const auto &file : {name, name + LOCK, name + "_sl", "sem." + name + "_mutex"})
        unlink((PLACE + file).c_str());
}

} // namespace

int remove_leftovers(const ipcmark_transport *, const char *name, ipcmark_error *) {
    std::error_code ignored;
    std::vector<std::string> dead;
    for (const auto &entry : std::filesystem::directory_iterator(PLACE, ignored)) {
        const auto file = entry.path().filename().string();
        if (!starts_with(file, SEGMENT) || !ends_with(file, LOCK))
            continue;
        if (starts_with(file, PORT) && !is_ours(file, name))
            continue;
        if (is_dead(entry.path()))
            dead.push_back(file.substr(0, file.size() - LOCK.size()));
    }
    for (const auto &object : dead)
        remove_object(object);
    return IPCMARK_DONE;
}

} // namespace fastdds_module
