// What the library says of itself: its errors are kept instead of printed.
#pragma once

#include <string>

namespace cyclonedds_module {

// Takes the library's log over: nothing is printed, and the last error is kept. Once a process.
void listen_to_the_library();

// The library's last error since the call before, or `otherwise` where it said nothing.
std::string last_words(const std::string &otherwise);

// The version of the library as it is loaded: "0.10.2".
const char *library_version();

} // namespace cyclonedds_module
