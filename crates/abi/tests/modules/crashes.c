/* Its constructor crashes. */
#include "base.h"
static int *volatile nowhere;
__attribute__((constructor)) static void crash(void) {
    fputs("about to crash\n", stderr);
    *nowhere = 7;
}
