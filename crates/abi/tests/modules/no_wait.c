/* A description in which nothing was said of how an end waits. */
#define WAITS 0
#include "base.h"
