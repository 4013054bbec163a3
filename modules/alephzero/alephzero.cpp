// The module of AlephZero: alephzero-rpc and alephzero-pubsub.
#include "alephzero.hpp"

#include "shared/cpp/description.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <sys/stat.h>

namespace alephzero {

namespace {

std::string directory_of(const char *session) {
    return std::string("/dev/shm/") + session;
}

} // namespace

void use_directory(const char *session) {
    setenv("A0_ROOT", directory_of(session).c_str(), 1);
}

int make_directory(const char *session, ipcmark_error *error) {
    const std::string directory = directory_of(session);
    if (mkdir(directory.c_str(), 0700) != 0)
        return ipcmark_fail_errno(error, "create", directory.c_str(), errno, nullptr);
    return IPCMARK_DONE;
}

void remove_directory(const char *session) {
    a0_file_remove_all(directory_of(session).c_str());
}

a0_file_options_t file_options(size_t bytes) {
    a0_file_options_t options = A0_FILE_OPTIONS_DEFAULT;
    options.create_options.size = static_cast<off_t>(bytes);
    options.create_options.mode = 0600;
    options.create_options.dir_mode = 0700;
    return options;
}

int fail(ipcmark_error *error, a0_err_t why, const char *operation, const char *object) {
    const char *cause = why == A0_ERR_SYS ? std::strerror(a0_err_syscode) : a0_strerror(why);
    return ipcmark_fail(error, operation, object, cause, nullptr);
}

ipcmark_transport describe(const char *name, const char *summary, uint32_t waits, uint32_t flags) {
    return ipcmark::describe_transport(name, summary, waits, flags | IPCMARK_IN_MEMORY);
}

} // namespace alephzero

namespace {

const char *library_version() {
    return alephzero::LIBRARY_VERSION;
}

const ipcmark_transport *const TRANSPORTS[] = {&alephzero_rpc, &alephzero_pubsub};

} // namespace

const struct ipcmark_module *ipcmark_module(void) {
    static const auto module = ipcmark::describe_module("alephzero", library_version, TRANSPORTS);
    return &module;
}
