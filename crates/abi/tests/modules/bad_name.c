/* A name that could not be asked for. */
#define NAME "Two Words"
#include "base.h"
