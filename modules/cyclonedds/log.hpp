// The library's log: its errors are stored instead of printed.
#pragma once

#include <string>

namespace cyclonedds_module {

// Redirects the log for the lifetime of the process.
void capture_log();

// The library's last error since the previous call, or `otherwise`.
std::string last_error(const std::string &otherwise);

} // namespace cyclonedds_module
