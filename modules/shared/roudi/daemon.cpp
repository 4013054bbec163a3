#include "shared/roudi/daemon.hpp"

#include "shared/c/space.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>

#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ipcmark {

namespace {

using std::chrono::milliseconds;

constexpr const char *PROGRAM = "iox-roudi";
constexpr const char *LOCK = "/tmp/iox-unique-roudi.lock";
constexpr const char *MANAGEMENT = "/dev/shm/iceoryx_mgmt";
constexpr const char *REMEDY = "apt install iceoryx";

// The bytes of /dev/shm that the daemon itself uses, whatever its pools are.
constexpr size_t MANAGEMENT_BYTES = 72u << 20;

// The bytes before the payload in a chunk.
constexpr size_t CHUNK_HEAD = 64;

// True if a process holds the daemon's lock; `holder` is its PID, or 0 if the system does not report it.
bool is_running(pid_t *holder) {
    const int fd = open(LOCK, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const bool held = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    struct stat file{};
    *holder = 0;
    if (held && fstat(fd, &file) == 0) {
        std::ifstream locks("/proc/locks");
        for (std::string line; std::getline(locks, line);)
            if (line.find(":" + std::to_string(file.st_ino) + " ") != std::string::npos)
                std::sscanf(line.c_str(), "%*s %*s %*s %*s %d", holder);
    }
    close(fd);
    return held;
}

int fail_running(pid_t holder, ipcmark_error *error) {
    std::string cause = "one is running already, and iceoryx allows one a machine";
    if (holder > 0)
        cause = "process " + std::to_string(holder) + " is one already, and iceoryx allows one a machine";
    return ipcmark_fail(error, "start", "iceoryx's daemon", cause.c_str(), "leave the sandbox on, or stop the other");
}

// Writes the configuration of the daemon's single pool.
bool write_config(const std::string &path, const Pool &pool) {
    std::ofstream file(path);
    file << "[general]\nversion = 1\n\n[[segment]]\n\n[[segment.mempool]]\nsize = " << pool.size
         << "\ncount = " << pool.count << "\n";
    return file.good();
}

Command command_with(const std::string &config) {
    return {"iceoryx's daemon", {PROGRAM, "-c", config, "-m", "off", "-l", "off"}, {}, SIGKILL, REMEDY};
}

// The segment is named after the user's group, which must have a name.
int check_group(ipcmark_error *error) {
    if (getgrgid(getegid()))
        return IPCMARK_DONE;
    const std::string cause = "the group " + std::to_string(getegid()) + " has no name";
    return ipcmark_fail(error, "start", "iceoryx's daemon", cause.c_str(),
                        "iceoryx needs one: run as a user and group of /etc/passwd and /etc/group");
}

} // namespace

int Daemon::start(const Pool &pool, const char *directory, const Deadline &deadline, ipcmark_error *error) {
    pid_t holder = 0;
    if (is_running(&holder))
        return fail_running(holder, error);
    if (const int result = check_group(error))
        return result;
    const size_t bytes = MANAGEMENT_BYTES + pool.count * (pool.size + CHUNK_HEAD);
    if (const int result = ipcmark_check_space(bytes, error))
        return result;
    const std::string config = std::string(directory) + "/iceoryx-pools.toml";
    if (!write_config(config, pool))
        return ipcmark_fail_errno(error, "write", config.c_str(), errno, nullptr);
    int result = program.start(command_with(config), error);
    if (result == IPCMARK_DONE)
        result = program.await("RouDi is ready for clients", 1, deadline, "it does not get ready", error);
    unlink(config.c_str());
    if (result == IPCMARK_DONE)
        watcher = std::thread([this] { watch(); });
    else
        stop();
    return result;
}

// Reads until the daemon's end of the pipe is closed, which happens when it ends.
void Daemon::watch() {
    char text[512];
    for (;;) {
        const ssize_t count = read(program.output(), text, sizeof text);
        if (count == 0 || (count < 0 && errno != EINTR))
            break;
    }
    gone.store(true, std::memory_order_relaxed);
}

int Daemon::fail_gone(ipcmark_error *error) const {
    const std::string cause = "the daemon (process " + std::to_string(program.id()) + ") has ended";
    return ipcmark_fail(error, "go on with", "iceoryx's daemon", cause.c_str(), nullptr);
}

void Daemon::stop() {
    if (program.output() < 0)
        return;
    program.end(milliseconds(0));
    if (watcher.joinable())
        watcher.join();
    program.stop(milliseconds(0));
    name_leftovers([](void *, const char *path) { unlink(path); }, nullptr, nullptr);
}

int name_leftovers(void (*file)(void *list, const char *path), void *list, ipcmark_error *) {
    pid_t holder = 0;
    if (is_running(&holder))
        return IPCMARK_DONE;
    // The name of its data segment is only the group's, so anything could have it: it belongs to a daemon if the other
    // segment exists too.
    const group *own = access(MANAGEMENT, F_OK) == 0 ? getgrgid(getegid()) : nullptr;
    if (own)
        file(list, (std::string("/dev/shm/") + own->gr_name).c_str());
    for (const char *name : {MANAGEMENT, "/tmp/roudi", "/tmp/roudi.lock", LOCK})
        file(list, name);
    return IPCMARK_DONE;
}

} // namespace ipcmark
