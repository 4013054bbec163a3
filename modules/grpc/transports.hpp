// The transports of the module.
#pragma once

#include <ipcmark/transport.h>

namespace grpc_module {

ipcmark_transport describe_stream();
ipcmark_transport describe_unary();

} // namespace grpc_module
