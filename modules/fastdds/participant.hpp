// Participants: transports, addresses, and discovery only among the endpoints of one session.
//
// Participants find each other without multicast and without the well-known ports of a DDS domain: every endpoint
// listens on its own ports, on the loopback interface unless the ends are on different hosts, and the leader sends the
// followers its ports. So it neither joins nor disturbs another DDS program, in any domain.
#pragma once

#include "config.hpp"

// The library's header would be most of the code that some sources compile.
namespace eprosima::fastdds::dds {
class DomainParticipant;
}

namespace fastdds_module {

// Loads the profiles of a file as the library's defaults, which apply wherever the session sets nothing else. Does
// nothing for an empty path.
void load_profile(const std::string &path);

// One port of a participant in each of the library's transports. 0: the transport is not used.
struct Port {
    uint32_t udp, shm;
};

// The ports of an endpoint.
struct Ports {
    Port discovery, messages;
};

// The address of the leader's participant, which the leader sends to the followers.
struct LeaderAddress {
    Port discovery;
    char host[48];
};

// The ports of the shared-memory transport that a session uses: two for each endpoint, the leader's first, and as many
// for the next opening. They are derived from the session's name, so that those of a killed session can be found.
constexpr uint32_t LEAST_SHM_PORT = 0x10000, PORTS_A_SESSION = 1024, PORTS_AN_OPENING = 2 * (1 + MOST_FOLLOWERS);
uint32_t first_shm_port(const std::string &session);

Ports choose_ports(const Config &config);

// Makes the participant of this endpoint. `leader` is null for the leader itself.
eprosima::fastdds::dds::DomainParticipant *
make_participant(const Config &config, const Ports &ports, const LeaderAddress *leader, const std::string &credentials);

} // namespace fastdds_module
