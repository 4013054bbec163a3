/* Its constructor starts a process that leaves its parent, its session and its group, and keeps running. It writes its
 * process id into the file named by $TEST_PID_FILE before the constructor continues. */
#include "base.h"

static void live_on(const char *path, int ready) {
    FILE *file = fopen(path, "w");
    if (file) {
        fprintf(file, "%d\n", (int)getpid());
        fclose(file);
    }
    close(ready);
    for (;;)
        pause();
}

__attribute__((constructor)) static void detach(void) {
    const char *path = getenv("TEST_PID_FILE");
    int ready[2];
    if (!path || pipe(ready) != 0)
        return;
    if (fork() == 0) {
        setsid();
        if (fork() == 0)
            live_on(path, ready[1]);
        _exit(0);
    }
    close(ready[1]);
    char none;
    while (read(ready[0], &none, 1) < 0 && errno == EINTR)
        ;
    close(ready[0]);
}
