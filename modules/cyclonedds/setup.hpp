// Set-up and teardown of an end. The leader opens first and tells the followers its address; then all ends wait until
// they are matched.
#pragma once

#include "endpoint.hpp"

namespace cyclonedds_module {

// Opens an end. After a failure, too, tear_down must follow.
void set_up(const std::shared_ptr<End> &end, const ipcmark_settings &settings, ipcmark_session *session,
            ipcmark_error *error);

// Closes an end, in two seconds at most. What threads of the library still use is abandoned.
void tear_down(const std::shared_ptr<End> &end);

} // namespace cyclonedds_module
