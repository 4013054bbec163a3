// Security: an authority, a certificate for each role, and governance and permissions that the authority signs. They
// are made for the session in its directory, read by both ends while they open, and then removed. Certificates of
// LatencyTest come without permissions, which are then made to go with them.
#pragma once

#include "config.hpp"

#include <string>
#include <utility>
#include <vector>

namespace fastdds_module {

// Makes what a session needs and the user did not give, with the command openssl. Returns the directory's path.
std::string make_credentials(const Config &config);

// True if a directory of the user's holds governance and permissions too. LatencyTest's do not.
bool has_permissions(const std::string &directory);

// Checks that a directory of the user's holds all the files that it should, each readable.
void check_credentials(const std::string &directory);

// The properties of a participant that switch authentication, access control and encryption on.
std::vector<std::pair<std::string, std::string>> security_properties(const std::string &credentials, bool leads);

} // namespace fastdds_module
