/* The free space of /dev/shm: writing to a file that cannot be backed raises SIGBUS. */
#ifndef IPCMARK_MODULES_SPACE_H
#define IPCMARK_MODULES_SPACE_H

#include <ipcmark/transport.h>

#include <sys/statvfs.h>

/* Fails if fewer than `bytes` are free. */
static inline int ipcmark_check_space(size_t bytes, struct ipcmark_error *error) {
    struct statvfs space;
    char cause[128];
    if (statvfs("/dev/shm", &space) != 0 || (size_t)space.f_bavail * space.f_frsize >= bytes)
        return IPCMARK_DONE;
    snprintf(cause, sizeof cause, "%zu MiB are needed, and %zu are left", (bytes >> 20) + 1,
             ((size_t)space.f_bavail * space.f_frsize) >> 20);
    return ipcmark_fail(error, "find room in", "/dev/shm", cause, "enlarge it: mount -o remount,size=1G /dev/shm");
}

#endif
