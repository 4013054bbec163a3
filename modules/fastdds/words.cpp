// The library's log and version.
#include "words.hpp"

#include <atomic>
#include <climits>
#include <cstdlib>
#include <memory>
#include <mutex>

#include <dlfcn.h>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/log/Log.hpp>
#include <fastrtps/config.h>

namespace fastdds_module {

namespace {

using eprosima::fastdds::dds::Log;

std::mutex words_mutex;
std::string words;
std::atomic<int> speeches{0};

// The library's own thread calls it.
struct Keeper : eprosima::fastdds::dds::LogConsumer {
    void Consume(const Log::Entry &entry) override {
        std::lock_guard<std::mutex> lock(words_mutex);
        words = entry.message;
    }
};

// Settings from the environment and from the directory in which ipcmark happens to be started would
// change what is measured without a word in the result.
bool take_over() {
    for (const char *name : {"FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_ENVIRONMENT_FILE",
                             "FASTDDS_STATISTICS", "ROS_DISCOVERY_SERVER"})
        unsetenv(name);
    setenv("SKIP_DEFAULT_XML", "1", 1);
    Log::ClearConsumers();
    Log::SetVerbosity(Log::Error);
    Log::RegisterConsumer(std::make_unique<Keeper>());
    return true;
}

} // namespace

void listen_to_the_library() {
    static const bool taken = take_over();
    static_cast<void>(taken);
}

Speech::Speech() {
    speeches.fetch_add(1);
}

Speech::~Speech() {
    if (speeches.fetch_sub(1) == 1)
        Log::KillThread();
}

std::string last_words(const std::string &otherwise) {
    Log::Flush();
    std::lock_guard<std::mutex> lock(words_mutex);
    std::string said;
    said.swap(words);
    return said.empty() ? otherwise : said;
}

// The library does not tell its version, but the file that it was loaded from does.
const char *library_version() {
    static const std::string version = [] {
        Dl_info info{};
        const auto address = reinterpret_cast<void *>(
            &eprosima::fastdds::dds::DomainParticipantFactory::get_instance);
        char path[PATH_MAX];
        if (dladdr(address, &info) == 0 || !realpath(info.dli_fname, path))
            return std::string(FASTRTPS_VERSION_STR);
        const std::string file(path);
        const auto at = file.rfind(".so.");
        return at == std::string::npos ? std::string(FASTRTPS_VERSION_STR) : file.substr(at + 4);
    }();
    return version.c_str();
}

} // namespace fastdds_module
