// The module of Boost.Interprocess.
#include "boost.hpp"

#include <boost/interprocess/shared_memory_object.hpp>
#include <boost/version.hpp>

int remove_names(const ipcmark_transport *, const char *session, ipcmark_error *) {
    for (int direction : {0, 1})
        boost::interprocess::shared_memory_object::remove(object_name(session, direction).c_str());
    return IPCMARK_DONE;
}

namespace {

// Headers only: what was compiled is what runs.
const char *library_version() {
    static const std::string text = std::to_string(BOOST_VERSION / 100000) + "." +
                                    std::to_string(BOOST_VERSION / 100 % 1000) + "." +
                                    std::to_string(BOOST_VERSION % 100);
    return text.c_str();
}

const ipcmark_transport *const transports[] = {&boost_mq, &boost_shm};

struct ipcmark_module describe() {
    struct ipcmark_module module{};
    module.size = sizeof module;
    module.abi_version = IPCMARK_ABI_VERSION;
    module.family = "boost";
    module.library_version = library_version;
    module.transports = transports;
    module.transport_count = 2;
    return module;
}

} // namespace

const struct ipcmark_module *ipcmark_module(void) {
    static const struct ipcmark_module module = describe();
    return &module;
}
