/* Promises room in place and has no function that gives it. */
#define FLAGS IPCMARK_LOANS
#include "base.h"
