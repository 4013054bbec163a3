// grpc-cpp-stream, grpc-cpp-unary: messages by gRPC over a Unix domain socket, as protobuf messages with one field of
// bytes.
//
// - Mechanism: a channel and a server, each with a completion queue that the endpoint's own thread polls.
// - Kernel objects: a Unix stream connection; a socket in the session's directory while the follower is open; epoll
//   sets; threads of the library that do not handle messages.
// - Copies a message: four: serialised into slices of the library, into the kernel, out of it, and parsed into a
//   string.
// - Blocks: in epoll_wait(2) within the completion queue, 100 ms at most.
// - Limits: two ends on one host. Unary calls alternate. The library works only within its calls.
#include "transports.hpp"

#include "shared/cpp/description.hpp"

#include <string>

#include <grpcpp/grpcpp.h>

namespace {

const ipcmark_transport stream = grpc_module::describe_stream();
const ipcmark_transport unary = grpc_module::describe_unary();
const ipcmark_transport *const TRANSPORTS[] = {&stream, &unary};

const char *library_version() {
    static const std::string version = grpc::Version();
    return version.c_str();
}

} // namespace

const struct ipcmark_module *ipcmark_module(void) {
    static const auto module = ipcmark::describe_module("grpc", library_version, TRANSPORTS);
    return &module;
}
