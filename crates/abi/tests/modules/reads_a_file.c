/* Has an option that names a file, and notes the value that it received. */
#define OPTION {"profile", "FILE", "none", "a file that is read"}
#define OPENED(session, settings)                              \
    for (uint32_t at = 0; at < (settings)->option_count; at++) \
    (session)->note((session), (settings)->options[at].key, (settings)->options[at].value)
#include "base.h"
