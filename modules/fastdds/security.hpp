// Security: an authority, a certificate for each role, and governance and permissions that the authority signs. They
// are made for the session in its directory, read by both ends while they open, and then removed. Certificates of
// LatencyTest have no permissions; matching ones are made.
#pragma once

#include "config.hpp"

#include <string>
#include <utility>
#include <vector>

namespace fastdds_module {

// Makes the credentials that a session needs and the user did not give, with the command openssl. Returns the
// directory's path.
std::string make_credentials(const Config &config);

// True if a user's directory also contains governance and permissions. LatencyTest's do not.
bool has_permissions(const std::string &directory);

// Checks that a user's directory contains all required files, each readable.
void check_credentials(const std::string &directory);

// The properties of a participant that enable authentication, access control and encryption.
std::vector<std::pair<std::string, std::string>> security_properties(const std::string &credentials, bool leads);

} // namespace fastdds_module
