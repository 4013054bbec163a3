// Set-up and teardown of an end. The leader opens first and tells the followers its address; then all ends wait until
// they are matched.
#pragma once

#include "endpoint.hpp"

namespace fastdds_module {

// Opens an end.
std::unique_ptr<End> set_up(const Config &config, ipcmark_session *session, ipcmark_error *error);

// Closes an end, in two seconds at most.
void tear_down(std::unique_ptr<End> end);

// Checks the files that options name.
void check_files(const Config &config);

} // namespace fastdds_module
