/* Has the name of one that is there already. */
#define NAME "pipe"
#include "base.h"
