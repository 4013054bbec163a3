// The process at the other end, beside a library that does not tell when it is gone.
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

    // The result of an attempt that has found nothing yet. What the other end did before it was gone counts: so one
    // more attempt comes before the error.
    int not_yet(ipcmark_error *error, const char *operation, const char *object) {
        if (gone) {
            ipcmark_fail(error, operation, object, "the other process has closed its end", nullptr);
            return IPCMARK_PEER_GONE;
        }
        // One system call, so it is looked at rarely where an end polls.
        gone = (!spins || ++polls % POLLS_A_LOOK == 0) && connection.is_peer_closed();
        return IPCMARK_WOULD_BLOCK;
    }

  private:
    static constexpr uint64_t POLLS_A_LOOK = 4096;

    bool spins = false, gone = false;
    uint64_t polls = 0;
    ipcmark::FlowControl connection; // Nothing is counted.
};

} // namespace python
