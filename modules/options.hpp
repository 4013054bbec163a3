// What the user has set of a transport, and what follows from a session's name where nobody has.
#pragma once

#include "options.h"

#include <cstdint>
#include <cstdlib>
#include <string>

namespace ipcmark {

// The value of an option, or nothing.
inline std::string value(const ipcmark_settings &settings, const char *key) {
    const char *const text = ipcmark_value(&settings, key);
    return text ? text : "";
}

inline uint32_t number(const ipcmark_settings &settings, const char *key, uint64_t standard) {
    const auto text = value(settings, key);
    return static_cast<uint32_t>(text.empty() ? standard : std::strtoull(text.c_str(), nullptr, 10));
}

inline bool is_on(const ipcmark_settings &settings, const char *key, bool standard) {
    const auto text = value(settings, key);
    return text.empty() ? standard : text == "on";
}

// A number that follows from a name.
inline uint32_t hash(const std::string &name) {
    uint32_t hash = 2166136261u;
    for (unsigned char byte : name)
        hash = (hash ^ byte) * 16777619u;
    return hash;
}

} // namespace ipcmark
