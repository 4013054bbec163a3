// The transports of the Python module.
#pragma once

#include <ipcmark/transport.h>

extern const ipcmark_transport python_pipe;
extern const ipcmark_transport python_shared_memory;
extern const ipcmark_transport python_queue;
extern const ipcmark_transport pyzmq;
