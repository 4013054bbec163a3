// The library's domain of one session, with a participant in it.
#pragma once

#include "cyclonedds.hpp"

#include <dds/dds.h>

namespace cyclonedds_module {

// Where the leader's participant is found: what followers are told.
struct Leader {
    char host[48];
    uint32_t port;
};

// The place of this end, should it lead.
Leader choose_place(const Plan &plan);

// Makes the domain and its participant, which is returned; dds_get_parent() is the domain.
dds_entity_t make_participant(const Plan &plan, const Leader &leader);

// Deletes the domain of a participant with all that is in it.
void delete_domain(dds_entity_t participant);

} // namespace cyclonedds_module
