/* Crashes in the middle of a measurement and leaves a file under a name of its own; its `leftovers` names that file. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* This name does not begin with a session's name. */
static const char left_file[] = "/dev/shm/test-of-a-module-that-crashes-later";

static void leave(void) {
    FILE *file = fopen(left_file, "w");
    if (file)
        fclose(file);
}

#define OPENED(session, settings) leave()
#define BEFORE_TAKE(end)     \
    if ((end)->taken == 100) \
    abort()
#define LEFTOVERS name_left
#include <ipcmark/transport.h>
static int name_left(void (*file)(void *list, const char *path), void *list, struct ipcmark_error *error) {
    (void)error;
    file(list, left_file);
    return IPCMARK_DONE;
}
#include "base.h"
