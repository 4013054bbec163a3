// The module of AlephZero.
#include "alephzero.hpp"

#include <cstdlib>
#include <cstring>

namespace alephzero {

namespace {

std::string root_of(const char *session) {
    return std::string("/dev/shm/") + session;
}

int remove_names(const ipcmark_transport *, const char *session, ipcmark_error *) {
    if (*session)
        remove_root(session);
    return IPCMARK_DONE;
}

} // namespace

std::string use_root(const char *session) {
    const std::string root = root_of(session);
    setenv("A0_ROOT", root.c_str(), 1);
    return root;
}

void remove_root(const char *session) {
    a0_file_remove_all(root_of(session).c_str());
}

a0_file_options_t file_options(size_t bytes) {
    a0_file_options_t options = A0_FILE_OPTIONS_DEFAULT;
    options.create_options.size = static_cast<off_t>(bytes);
    return options;
}

int fail(ipcmark_error *error, a0_err_t why, const char *operation, const char *object) {
    const char *cause = why == A0_ERR_SYS ? std::strerror(a0_err_syscode) : a0_strerror(why);
    return ipcmark_fail(error, operation, object, cause, nullptr);
}

ipcmark_transport describe(const char *name, const char *summary, uint32_t waits, uint32_t flags) {
    ipcmark_transport transport{};
    transport.size = sizeof transport;
    transport.flags = flags | IPCMARK_IN_MEMORY;
    transport.name = name;
    transport.summary = summary;
    transport.max_payload = 4 << 20;
    transport.waits = waits;
    transport.patterns = IPCMARK_LATENCY;
    transport.max_subscribers = 1;
    transport.remove = remove_names;
    return transport;
}

} // namespace alephzero

namespace {

const char *library_version() {
    return alephzero::LIBRARY_VERSION;
}

const ipcmark_transport *const transports[] = {&alephzero_rpc, &alephzero_pubsub};

struct ipcmark_module describe_module() {
    struct ipcmark_module module{};
    module.size = sizeof module;
    module.abi_version = IPCMARK_ABI_VERSION;
    module.family = "alephzero";
    module.library_version = library_version;
    module.transports = transports;
    module.transport_count = 2;
    return module;
}

} // namespace

const struct ipcmark_module *ipcmark_module(void) {
    static const struct ipcmark_module module = describe_module();
    return &module;
}
