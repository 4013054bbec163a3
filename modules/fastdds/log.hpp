// The library's log: its errors are kept instead of printed.
#pragma once

#include <string>

namespace fastdds_module {

// Takes the log over for the rest of the process, and hides from the library what in the environment and in the working
// directory would change its settings without a word in the result.
void capture_log();

// The library starts a thread with the first entry of its log. It ends with the last of these.
struct LogThread {
    LogThread();
    ~LogThread();
    LogThread(const LogThread &) = delete;
    LogThread &operator=(const LogThread &) = delete;
};

// The library's last error since the call before, or `otherwise`.
std::string last_error(const std::string &otherwise);

} // namespace fastdds_module
