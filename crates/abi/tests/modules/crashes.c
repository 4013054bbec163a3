/* Its constructor crashes. */
#include "base.h"
__attribute__((constructor)) static void crash(void) {
    fputs("about to crash\n", stderr);
    raise(SIGSEGV);
}
