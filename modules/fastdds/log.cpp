#include "log.hpp"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>

#include <fastdds/dds/log/Log.hpp>

namespace fastdds_module {

namespace {

using eprosima::fastdds::dds::Log;
using eprosima::fastdds::dds::LogConsumer;

// The library's own thread logs.
std::mutex mutex;
std::string logged;
std::atomic<int> thread_users{0};

struct Keeper : LogConsumer {
    void Consume(const Log::Entry &entry) override {
        const std::lock_guard<std::mutex> lock(mutex);
        logged = entry.message;
    }
};

} // namespace

void capture_log() {
    static std::once_flag once;
    std::call_once(once, [] {
        for (const char *name : {"FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_ENVIRONMENT_FILE", "FASTDDS_STATISTICS",
                                 "ROS_DISCOVERY_SERVER"})
            unsetenv(name);
        setenv("SKIP_DEFAULT_XML", "1", 1);
        Log::ClearConsumers();
        Log::SetVerbosity(Log::Error);
        Log::RegisterConsumer(std::make_unique<Keeper>());
    });
}

LogThread::LogThread() {
    thread_users.fetch_add(1);
}

LogThread::~LogThread() {
    if (thread_users.fetch_sub(1) == 1)
        Log::KillThread();
}

std::string last_error(const std::string &otherwise) {
    Log::Flush();
    const std::lock_guard<std::mutex> lock(mutex);
    std::string error;
    error.swap(logged);
    return error.empty() ? otherwise : error;
}

} // namespace fastdds_module
