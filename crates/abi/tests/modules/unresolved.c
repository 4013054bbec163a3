/* Calls a function that no library defines. */
void a_function_that_is_nowhere(void);
#define OPENED(session, settings) a_function_that_is_nowhere()
#include "base.h"
