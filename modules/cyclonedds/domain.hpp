// The library's domain of one session, with one participant in each process.
//
// Participants find one another without multicast and without the well-known ports of a DDS domain: the leader
// listens on a port of its own, on the loopback interface unless the ends are on different hosts, and tells the
// followers which. So no other DDS program is joined or disturbed, whatever its domain.
#pragma once

#include "config.hpp"

#include <dds/dds.h>

namespace cyclonedds_module {

// The address of the leader's participant, which followers are told.
struct LeaderAddress {
    char host[48];
    uint32_t port;
};

// An address for this end, should it lead.
LeaderAddress choose_address(const Config &config);

// Makes the domain and returns its participant; dds_get_parent() gives the domain.
dds_entity_t make_participant(const Config &config, const LeaderAddress &leader);

// Deletes the domain of a participant with all that is in it.
void delete_domain(dds_entity_t participant);

} // namespace cyclonedds_module
