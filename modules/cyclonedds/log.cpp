#include "log.hpp"

#include <mutex>

#include <dds/dds.h>
#include <dds/ddsrt/log.h>

namespace cyclonedds_module {

namespace {

// Threads of the library also log.
std::mutex mutex;
std::string logged;

void keep(void *, const dds_log_data_t *entry) {
    const std::lock_guard<std::mutex> lock(mutex);
    logged = entry->message;
    while (!logged.empty() && logged.back() == '\n')
        logged.pop_back();
}

} // namespace

void capture_log() {
    static std::once_flag once;
    std::call_once(once, [] {
        dds_set_log_sink(keep, nullptr);
        dds_set_log_mask(DDS_LC_FATAL | DDS_LC_ERROR);
    });
}

std::string last_error(const std::string &otherwise) {
    const std::lock_guard<std::mutex> lock(mutex);
    std::string error;
    error.swap(logged);
    return error.empty() ? otherwise : error;
}

} // namespace cyclonedds_module
