// Set-up and teardown of an endpoint. The leader opens first and sends the followers its address; then all endpoints
// wait until they are matched.
#pragma once

#include "endpoint.hpp"

namespace cyclonedds_module {

// Opens an endpoint. Even after a failure, tear_down must be called.
void set_up(const std::shared_ptr<End> &end, const ipcmark_settings &settings, ipcmark_session *session,
            ipcmark_error *error);

// Closes an endpoint, in two seconds at most. Resources that threads of the library still use are abandoned.
void tear_down(const std::shared_ptr<End> &end);

} // namespace cyclonedds_module
