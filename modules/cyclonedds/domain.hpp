// The library's domain of one session, with one participant in each process.
//
// Participants find each other without multicast and without the well-known ports of a DDS domain: the leader listens
// on its own port, on the loopback interface unless the ends are on different hosts, and sends it to the followers. So
// it neither joins nor disturbs another DDS program, in any domain.
#pragma once

#include "config.hpp"

#include <dds/dds.h>

namespace cyclonedds_module {

// The address of the leader's participant, which the leader sends to the followers.
struct LeaderAddress {
    char host[48];
    uint32_t port;
};

// Chooses an address for this endpoint; used if it leads.
LeaderAddress choose_address(const Config &config);

// Makes the domain and returns its participant; dds_get_parent() gives the domain.
dds_entity_t make_participant(const Config &config, const LeaderAddress &leader);

// Deletes the domain of a participant with all its entities.
void delete_domain(dds_entity_t participant);

} // namespace cyclonedds_module
