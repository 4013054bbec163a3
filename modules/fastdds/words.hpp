// What the library says of itself: its errors are kept instead of printed.
#pragma once

#include <string>

namespace fastdds_module {

// Takes the library's log over: nothing is printed, and the last error is kept. Once a process.
void listen_to_the_library();

// The library starts a thread with the first word that it says. It ends with the last of these.
struct Speech {
    Speech();
    ~Speech();
    Speech(const Speech &) = delete;
    Speech &operator=(const Speech &) = delete;
};

// The library's last error since the call before, or `otherwise` where it said nothing.
std::string last_words(const std::string &otherwise);

// The version of the library as it is loaded: "2.9.1".
const char *library_version();

} // namespace fastdds_module
