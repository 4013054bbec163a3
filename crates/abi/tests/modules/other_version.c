/* Built for a future version of the contract. */
#define ABI_VERSION 2
#include "base.h"
