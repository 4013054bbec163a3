// The library's domain of one session, with a participant in it.
#pragma once

#include "cyclonedds.hpp"

#include <dds/dds.h>

namespace cyclonedds_module {

// The port on which the leader's participant is found.
uint32_t choose_port();

// Makes the domain and its participant, which is returned; dds_get_parent() is the domain. `port` is
// the leader's own; followers look for the leader there.
dds_entity_t make_participant(const Plan &plan, uint32_t port);

// Deletes the domain of a participant with all that is in it.
void delete_domain(dds_entity_t participant);

} // namespace cyclonedds_module
