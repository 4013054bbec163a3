/* Its description declares no wait. */
#define WAITS 0
#include "base.h"
