// The configuration of an endpoint: its transport, the options and the settings.
#pragma once

#include "shared/cpp/failure.hpp"

#include <ipcmark/transport.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace fastdds_module {

using ipcmark::Failure;
using ipcmark::require;

constexpr uint32_t MOST_FOLLOWERS = 64;

enum class Sharing { Off, On, Automatic };

// The defaults of one transport, which options can change.
struct Defaults {
    bool udp, shm; // The library's transports between participants.
    Sharing sharing;
    bool loans;
    bool secure;
};

struct Config {
    bool leads;
    bool spins; // Nothing sleeps.
    bool polls; // Polls for a message before it sleeps, if it sleeps at all.
    uint32_t follower, followers;
    uint64_t payload;
    std::string name, directory;
    // The number of this opening in the leader's process, which the leader sends to the followers. An endpoint that
    // could not be closed keeps its ports, and its topics keep their pools, so each opening uses new ones.
    uint32_t opening;
    std::string host;      // The address of this endpoint.
    bool is_between_hosts; // The endpoints are on different hosts.
    bool udp, shm, loans, secure, reliable;
    Sharing sharing;
    uint32_t domain;
    uint32_t history; // The number of messages that a writer or a reader keeps.
    uint32_t spare;   // The number of additional messages for which there is memory.
    uint32_t segment; // The bytes of a participant's segment of the shared-memory transport.
    uint32_t socket_buffer;
    std::string certificates, profile; // Paths, or empty.

    // The number of ends on the other side.
    uint32_t peers() const { return leads ? followers : 1; }

    // The period of a writer's heartbeats: 10 ms for each follower, so that those of several ends together are no more
    // than those of two; and not so long that a lost message is missed for longer than this.
    uint32_t heartbeat_ms() const { return std::min(10 * followers, 100u); }
};

constexpr uint32_t DEFAULT_OPTION_COUNT = 9, UDP_OPTION_COUNT = 5, SHM_OPTION_COUNT = 5, DATA_SHARING_OPTION_COUNT = 5,
                   SECURE_OPTION_COUNT = 6, INTRA_OPTION_COUNT = 3;
extern const ipcmark_option_spec DEFAULT_OPTIONS[DEFAULT_OPTION_COUNT], UDP_OPTIONS[UDP_OPTION_COUNT],
    SHM_OPTIONS[SHM_OPTION_COUNT], DATA_SHARING_OPTIONS[DATA_SHARING_OPTION_COUNT], SECURE_OPTIONS[SECURE_OPTION_COUNT],
    INTRA_OPTIONS[INTRA_OPTION_COUNT];

Config configure(const Defaults &defaults, const ipcmark_settings &settings);

// The directory of a session's data-sharing pools. Its name begins with the session's, so that ipcmark removes it with
// the session in every case.
std::string pool_directory(const std::string &session);

// The topic that the leader publishes on, and the one that the followers publish on.
std::string leader_topic(const Config &config), follower_topic(const Config &config);

// Runs a body that may throw; no exception escapes.
template <typename Body> int guarded(ipcmark_error *error, Body body) noexcept {
    return ipcmark::guarded(error, "an end of Fast DDS", body);
}

} // namespace fastdds_module
