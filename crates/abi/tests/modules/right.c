/* Correct, and notes a setting. */
#define OPENED(session, settings) (session)->note((session), "buffer", "64 KiB")
#include "base.h"
