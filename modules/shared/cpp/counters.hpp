// Shared memory for the counters of a queue: the leader makes it, and the followers receive its descriptor.
#pragma once

#include <ipcmark/transport.h>

#include <cerrno>
#include <cstddef>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ipcmark {

// Its size is fixed: access beyond the end of a file that was truncated raises SIGBUS in the other process.
constexpr int FIXED_SIZE = F_SEAL_SHRINK | F_SEAL_GROW;

// Makes memory that begins with zeros, and stores its descriptor. `object` names it in errors.
inline int make_counters(size_t bytes, const char *object, int *memory, ipcmark_error *error) {
    // ipcmark knows this name, and does not mistake the counters for the carrier of the messages.
    const int made = memfd_create("ipcmark-pair", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (made >= 0 && ftruncate(made, static_cast<off_t>(bytes)) == 0 && fcntl(made, F_ADD_SEALS, FIXED_SIZE) == 0) {
        *memory = made;
        return IPCMARK_DONE;
    }
    const int number = errno;
    if (made >= 0)
        ::close(made);
    return ipcmark_fail_errno(error, "make", object, number, nullptr);
}

// Maps memory of this or another process, if its size is fixed and sufficient, and stores its address.
template <typename Counters>
int map_counters(int memory, const char *object, Counters **counters, ipcmark_error *error) {
    struct stat status{};
    const int seals = fcntl(memory, F_GET_SEALS);
    if (seals < 0 || fstat(memory, &status) != 0)
        return ipcmark_fail_errno(error, "examine", object, errno, nullptr);
    if ((seals & FIXED_SIZE) != FIXED_SIZE)
        return ipcmark_fail(error, "map", object, "the other process can still change their size", nullptr);
    if (static_cast<size_t>(status.st_size) < sizeof(Counters))
        return ipcmark_fail(error, "map", object, "they are too short", nullptr);
    void *const mapped = mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, memory, 0);
    if (mapped == MAP_FAILED)
        return ipcmark_fail_errno(error, "map", object, errno, nullptr);
    *counters = static_cast<Counters *>(mapped);
    return IPCMARK_DONE;
}

} // namespace ipcmark
