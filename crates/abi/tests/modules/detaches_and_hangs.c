/* The same as detaches.c, but its constructor never returns. */
#include "detaches.c"
__attribute__((constructor(65535))) static void hang(void) {
    for (;;)
        pause();
}
