/* Declares loans but has no loan function. */
#define FLAGS IPCMARK_LOANS
#include "base.h"
