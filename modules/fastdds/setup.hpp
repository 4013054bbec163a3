// Set-up and teardown of an endpoint. The leader opens first and sends the followers its address; then all endpoints
// wait until they are matched.
#pragma once

#include "endpoint.hpp"

namespace fastdds_module {

// Opens an endpoint.
std::unique_ptr<End> set_up(const Config &config, const ipcmark::Deadline &deadline, ipcmark_session *session,
                            ipcmark_error *error);

// Closes an endpoint, in two seconds at most.
void tear_down(std::unique_ptr<End> end);

// Checks the files that options name.
void check_files(const Config &config);

} // namespace fastdds_module
