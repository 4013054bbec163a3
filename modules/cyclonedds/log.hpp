// The library's log: its errors are kept instead of printed.
#pragma once

#include <string>

namespace cyclonedds_module {

// Takes the log over for the rest of the process.
void capture_log();

// The library's last error since the call before, or `otherwise`.
std::string last_error(const std::string &otherwise);

} // namespace cyclonedds_module
