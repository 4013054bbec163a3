/* Crashes in the middle of a measurement, having left a file that nobody but itself knows of; when
 * asked, it removes that file. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *left_file(const char *name) {
    static char path[512];
    const char *directory = getenv("TEST_LEFT_DIRECTORY");
    snprintf(path, sizeof path, "%s/%s.left", directory ? directory : "/nonexistent", name);
    return path;
}

static void leave(const char *name) {
    FILE *file = fopen(left_file(name), "w");
    if (file)
        fclose(file);
}

#define OPENED(session, settings) leave((settings)->name)
#define BEFORE_TAKE(end) if ((end)->taken == 100) abort()
#define REMOVE remove_left
#include <ipcmark/transport.h>
static int remove_left(const struct ipcmark_transport *transport, const char *name,
                       struct ipcmark_error *error) {
    (void)transport;
    (void)error;
    unlink(left_file(name));
    return IPCMARK_DONE;
}
#include "base.h"
