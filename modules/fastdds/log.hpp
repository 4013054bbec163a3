// The library's log: its errors are stored instead of printed.
#pragma once

#include <string>

namespace fastdds_module {

// Redirects the log for the lifetime of the process, and hides from the library everything in the environment and in
// the working directory that would change its settings without a note in the result.
void capture_log();

// The library starts a thread with the first entry of its log. The thread ends with the last of these.
struct LogThread {
    LogThread();
    ~LogThread();
    LogThread(const LogThread &) = delete;
    LogThread &operator=(const LogThread &) = delete;
};

// The library's last error since the previous call, or `otherwise`.
std::string last_error(const std::string &otherwise);

} // namespace fastdds_module
