// The options that the user set for a transport.
#pragma once

#include "shared/c/options.h"

#include <cstdint>
#include <cstdlib>
#include <string>

namespace ipcmark {

// The value of an option, or "" if the user did not set it.
inline std::string value(const ipcmark_settings &settings, const char *key) {
    const char *const text = ipcmark_option_value(&settings, key);
    return text ? text : "";
}

inline uint32_t number(const ipcmark_settings &settings, const char *key, uint64_t otherwise) {
    const auto text = value(settings, key);
    return static_cast<uint32_t>(text.empty() ? otherwise : std::strtoull(text.c_str(), nullptr, 10));
}

inline bool is_on(const ipcmark_settings &settings, const char *key, bool otherwise) {
    const auto text = value(settings, key);
    return text.empty() ? otherwise : text == "on";
}

// A number derived from a session's name (FNV-1a), for defaults that must differ between sessions.
inline uint32_t hash(const std::string &name) {
    uint32_t hash = 2166136261u;
    for (const unsigned char byte : name)
        hash = (hash ^ byte) * 16777619u;
    return hash;
}

} // namespace ipcmark
