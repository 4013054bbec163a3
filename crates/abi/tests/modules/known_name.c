/* Has the name of an existing transport. */
#define NAME "pipe"
#include "base.h"
