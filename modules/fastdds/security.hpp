// Certificates, governance and permissions.
#pragma once

#include "fastdds.hpp"

#include <fastdds/dds/domain/qos/DomainParticipantQos.hpp>

namespace fastdds_module {

// Makes what a session needs and the user has not given, in a directory of its own, with the command
// openssl. Returns the directory's path.
std::string make_credentials(const Plan &plan);

// Whether a directory of the user's holds governance and permissions too. LatencyTest's do not.
bool has_permissions(const std::string &directory);

// Checks that a directory of the user's holds all that it should, each file readable.
void check_credentials(const std::string &directory);

// Switches authentication, access control and encryption on.
void secure(eprosima::fastdds::dds::DomainParticipantQos &qos, const std::string &credentials,
            bool leads);

} // namespace fastdds_module
