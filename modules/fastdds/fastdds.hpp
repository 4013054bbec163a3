// What the files of this module share: the rows, what a session is to be like.
#pragma once

#include "../failure.hpp"

#include <ipcmark/transport.h>

#include <cstdint>
#include <string>

namespace fastdds_module {

constexpr uint32_t MOST_FOLLOWERS = 16;

enum class Sharing { Off, On, Automatic };

// What one transport has and its brothers lack; options can change it.
struct Row {
    bool udp, shm; // The library's transports between participants.
    Sharing sharing;
    bool loans;
    bool secure;
};

// What a session is to be like: the row, the options and the settings together.
struct Plan {
    bool leads;
    bool spins; // Nothing sleeps.
    bool polls; // Messages are polled for, at least for a while.
    uint32_t follower, followers;
    uint64_t payload;
    std::string name, directory;
    // How many ends the leader's process has opened: the leader tells the others. An end that could not
    // be closed keeps its ports, and its topics their pools of messages, so each opening has its own.
    uint32_t opening;
    std::string host; // Where this end is reached.
    bool apart;       // The ends are on different hosts.
    bool udp, shm, loans, secure, reliable;
    Sharing sharing;
    uint32_t domain;
    uint32_t history; // Messages that a writer or a reader keeps.
    uint32_t spare;   // Messages beyond those, for which there is memory.
    uint32_t segment; // Bytes of a participant's segment of the shared-memory transport.
    uint32_t socket_buffer;
    std::string certificates, profile; // Paths, or empty.
};

extern const ipcmark_option_spec default_options[], udp_options[], shm_options[],
    data_sharing_options[], secure_options[], intra_options[];
constexpr uint32_t default_option_count = 9, udp_option_count = 5, shm_option_count = 5,
                   data_sharing_option_count = 5, secure_option_count = 6,
                   intra_option_count = 3;

Plan make_plan(const Row &row, const ipcmark_settings &settings);

// The pools of data sharing lie in this directory. Its name begins with the session's, so that it is
// removed with the session whatever happens.
std::string pool_directory(const std::string &session);

// The topic that the leader publishes on, and the one that the followers do.
std::string leaders_topic(const Plan &plan), followers_topic(const Plan &plan);

using ipcmark::Failure;
using ipcmark::proceed;

// Runs what may throw; nothing thrown leaves it.
template <typename Body> int guarded(ipcmark_error *error, Body body) noexcept {
    return ipcmark::guarded(error, "an end of Fast DDS", body);
}

} // namespace fastdds_module
