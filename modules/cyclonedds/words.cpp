// The library's log and version.
#include "words.hpp"

#include <climits>
#include <cstdlib>
#include <mutex>

#include <dds/dds.h>
#include <dds/ddsrt/log.h>
#include <dds/version.h>
#include <dlfcn.h>

namespace cyclonedds_module {

namespace {

std::mutex words_mutex;
std::string words;

// Threads of the library call it too.
void keep(void *, const dds_log_data_t *said) {
    std::lock_guard<std::mutex> lock(words_mutex);
    words = said->message;
    while (!words.empty() && words.back() == '\n')
        words.pop_back();
}

bool take_over() {
    dds_set_log_sink(keep, nullptr);
    dds_set_log_mask(DDS_LC_FATAL | DDS_LC_ERROR);
    return true;
}

} // namespace

void listen_to_the_library() {
    static const bool taken = take_over();
    static_cast<void>(taken);
}

std::string last_words(const std::string &otherwise) {
    std::lock_guard<std::mutex> lock(words_mutex);
    std::string said;
    said.swap(words);
    return said.empty() ? otherwise : said;
}

// The library does not tell its version, but the file that it was loaded from does.
const char *library_version() {
    static const std::string version = [] {
        Dl_info info{};
        char path[PATH_MAX];
        if (dladdr(reinterpret_cast<void *>(&dds_create_domain), &info) == 0 ||
            !realpath(info.dli_fname, path))
            return std::string(DDS_VERSION);
        const std::string file(path);
        const auto at = file.rfind(".so.");
        return at == std::string::npos ? std::string(DDS_VERSION) : file.substr(at + 4);
    }();
    return version.c_str();
}

} // namespace cyclonedds_module
