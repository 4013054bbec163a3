/* Writes an x into the file that $TEST_COUNT_FILE names each time it is loaded, and has something to say of
 * what killed sessions left. */
#include <ipcmark/transport.h>
#define LEFTOVERS name_none
static int name_none(void (*file)(void *list, const char *path), void *list, struct ipcmark_error *error);
#include "base.h"

static int name_none(void (*file)(void *list, const char *path), void *list, struct ipcmark_error *error) {
    (void)file, (void)list, (void)error;
    return IPCMARK_DONE;
}

__attribute__((constructor)) static void count(void) {
    const char *path = getenv("TEST_COUNT_FILE");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file) {
        fputc('x', file);
        fclose(file);
    }
}
