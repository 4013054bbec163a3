// Detects the end of the other process, for a library that does not report it.
#pragma once

#include "shared/cpp/flow_control.hpp"

#include <ipcmark/transport.h>

#include <cstdint>

namespace python {

class Peer {
  public:
    int open(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
        spins = settings.wait == IPCMARK_SPIN;
        return connection.open(settings.role == IPCMARK_LEADER, 1, session, error);
    }

    // The result of an unsuccessful attempt. Messages that the peer sent before it was gone still count, so one more
    // attempt precedes the error.
    int not_yet(ipcmark_error *error, const char *operation, const char *object) {
        if (gone) {
            ipcmark_fail(error, operation, object, "the other process has closed its end", nullptr);
            return IPCMARK_PEER_GONE;
        }
        // Costs a system call, so a polling endpoint checks rarely.
        gone = (!spins || ++polls % POLLS_A_LOOK == 0) && connection.is_peer_closed();
        return IPCMARK_WOULD_BLOCK;
    }

  private:
    static constexpr uint64_t POLLS_A_LOOK = 4096;

    bool spins = false, gone = false;
    uint64_t polls = 0;
    ipcmark::FlowControl connection; // Only for its connection.
};

} // namespace python
