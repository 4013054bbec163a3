/* A required function is missing. */
#define TAKE NULL
#include "base.h"
