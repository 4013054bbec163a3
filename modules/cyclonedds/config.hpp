// The configuration of an endpoint: its transport, the options and the settings.
#pragma once

#include "shared/cpp/failure.hpp"

#include <ipcmark/transport.h>

#include <cstdint>
#include <string>

namespace cyclonedds_module {

using ipcmark::Failure;
using ipcmark::require;

constexpr uint32_t MOST_FOLLOWERS = 64;

struct Config {
    bool shares; // Messages lie in iceoryx's shared memory; else they use UDP.
    bool leads;
    bool spins; // Nothing sleeps.
    bool polls; // Polls for a message before it sleeps, if it sleeps at all.
    uint32_t follower, followers;
    uint64_t payload;
    std::string name;
    std::string host;      // The address of this endpoint.
    bool is_between_hosts; // The endpoints are on different hosts.
    bool reliable;
    uint32_t domain;
    uint32_t history; // The number of messages that a writer or a reader keeps.
    uint32_t socket_buffer;
    std::string profile; // A path, or empty.
};

constexpr uint32_t UDP_OPTION_COUNT = 5, SHARED_OPTION_COUNT = 4;
extern const ipcmark_option_spec UDP_OPTIONS[UDP_OPTION_COUNT], SHARED_OPTIONS[SHARED_OPTION_COUNT];

Config configure(bool shares, const ipcmark_settings &settings);

// Runs a body that may throw; no exception escapes.
template <typename Body> int guarded(ipcmark_error *error, Body body) noexcept {
    return ipcmark::guarded(error, "an end of Cyclone DDS", body);
}

} // namespace cyclonedds_module
