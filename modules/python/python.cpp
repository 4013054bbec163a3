// The Python module: python-pipe, python-shared-memory, python-queue and pyzmq.
#include "python.hpp"

#include "interpreter.hpp"
#include "shared/cpp/description.hpp"

#include <string>

namespace {

// "3.11.2 (main, ...": its first word.
const char *library_version() {
    static const std::string version = std::string(Py_GetVersion()).substr(0, std::string(Py_GetVersion()).find(' '));
    return version.c_str();
}

const ipcmark_transport *const TRANSPORTS[] = {&python_pipe, &python_shared_memory, &python_queue, &pyzmq};

} // namespace

const struct ipcmark_module *ipcmark_module(void) {
    static const auto module = ipcmark::describe_module("python", library_version, TRANSPORTS);
    return &module;
}
