/* Its constructor writes more to standard output and standard error than a pipe holds. */
#include "base.h"
__attribute__((constructor)) static void print(void) {
    for (int i = 0; i < 20000; i++) {
        puts("{\"Ok\": \"garbage\"}");
        fputs("noise\n", stderr);
    }
    fflush(stdout);
}
