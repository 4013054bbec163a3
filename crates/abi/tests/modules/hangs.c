/* Its constructor never returns. */
#include "base.h"
__attribute__((constructor)) static void hang(void) {
    for (;;)
        pause();
}
