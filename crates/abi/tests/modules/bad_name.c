/* Has an invalid name, which nobody could request. */
#define NAME "Two Words"
#include "base.h"
