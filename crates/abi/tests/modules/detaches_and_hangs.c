/* As detaches, and its constructor never ends. */
#include "detaches.c"
__attribute__((constructor(65535))) static void hang(void) {
    for (;;)
        pause();
}
