/* Built for a version of the contract that is not there yet. */
#define ABI_VERSION 2
#include "base.h"
