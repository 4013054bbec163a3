// The module of Boost.Interprocess: boost-mq and boost-shm.
#include "boost.hpp"

#include "shared/cpp/description.hpp"

#include <boost/interprocess/shared_memory_object.hpp>
#include <boost/version.hpp>

void remove_names(const char *session) {
    for (const int direction : {0, 1})
        boost::interprocess::shared_memory_object::remove(object_name(session, direction).c_str());
}

namespace {

// The library is header-only: the compiled version is the one that runs.
const char *library_version() {
    static const std::string text = std::to_string(BOOST_VERSION / 100000) + "." +
                                    std::to_string(BOOST_VERSION / 100 % 1000) + "." +
                                    std::to_string(BOOST_VERSION % 100);
    return text.c_str();
}

const ipcmark_transport *const TRANSPORTS[] = {&boost_mq, &boost_shm};

} // namespace

const struct ipcmark_module *ipcmark_module(void) {
    static const auto module = ipcmark::describe_module("boost", library_version, TRANSPORTS);
    return &module;
}
