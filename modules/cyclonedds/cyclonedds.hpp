// What the files of this module share: the rows, and what a session is to be like.
#pragma once

#include "../failure.hpp"

#include <ipcmark/transport.h>

#include <cstdint>
#include <string>

namespace cyclonedds_module {

using ipcmark::Failure;
using ipcmark::proceed;

// What a session is to be like: the row, the options and the settings together.
struct Plan {
    bool shares; // Messages lie in iceoryx's shared memory; else they go over UDP.
    bool leads;
    bool spins; // Nothing sleeps.
    bool polls; // Messages are polled for, at least for a while.
    uint32_t follower, followers;
    uint64_t payload;
    std::string name;
    std::string host; // Where this end is reached.
    bool apart;       // The ends are on different hosts.
    bool reliable;
    uint32_t domain;
    uint32_t history; // Messages that a writer or a reader keeps.
    uint32_t socket_buffer;
    std::string profile; // A path, or empty.
};

extern const ipcmark_option_spec udp_options[], shared_options[];
constexpr uint32_t udp_option_count = 5, shared_option_count = 4;

// `shares` says which row it is.
Plan make_plan(bool shares, const ipcmark_settings &settings);

// Runs what may throw; nothing thrown leaves it.
template <typename Body> int guarded(ipcmark_error *error, Body body) noexcept {
    return ipcmark::guarded(error, "an end of Cyclone DDS", body);
}

} // namespace cyclonedds_module
