// Participants: transports, addresses, discovery among the ends of one session alone.
#pragma once

#include "fastdds.hpp"

#include <fastdds/dds/domain/DomainParticipant.hpp>

namespace fastdds_module {

// Takes the profiles of a file as the library's defaults; nothing for an empty path.
void load_profile(const std::string &path);

// Ports of a participant. One that is 0 is not used.
struct Address {
    uint32_t udp, shm;
};

// Where the leader's participant is found: what followers are told.
struct Leader {
    Address discovery;
    char host[48];
};

// The ports of the shared-memory transport that a session uses: two for each end, the leader's
// first, and as many for the next opening. They follow from the session's name, so that what a killed
// one left can be found.
constexpr uint32_t LEAST_SHM_PORT = 0x10000, PORTS_A_SESSION = 256, PORTS_AN_OPENING = 2 * (1 + MOST_FOLLOWERS);
uint32_t shm_ports(const std::string &name);

// Two ports of an end: one for discovery, one for messages.
struct Ports {
    Address discovery, messages;
};

// Writes down which segments this process has, for whoever cleans up after it; and removes the list.
void list_segments(const std::string &session);
void forget_segments(const std::string &session);

Ports choose_ports(const Plan &plan);

// Makes the participant of this end. `leader` is where the leader is; a leader passes nullptr.
eprosima::fastdds::dds::DomainParticipant *make_participant(const Plan &plan, const Ports &ports,
                                                            const Leader *leader,
                                                            const std::string &credentials);

} // namespace fastdds_module
