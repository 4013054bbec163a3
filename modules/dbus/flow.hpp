// A bound on the unreleased messages of an endpoint of a bus, in both directions. A bus does not make a sender wait:
// dbus-broker drops messages. dbus-daemon can stop to read from a client (`max_incoming_bytes`), but what it has read
// before then stays in its buffer until the client sends more, although there is room again.
#pragma once

#include "shared/cpp/budget.hpp"
#include "shared/cpp/flows.hpp"

namespace dbus {

class Flow {
  public:
    static constexpr uint32_t MOST_FOLLOWERS = 64;

    // Must be called by all endpoints of a bus. Without it there is always room.
    int open(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
        leads = settings.role == IPCMARK_LEADER;
        has_several = settings.subscribers > 1;
        flows.expect(session->peers);
        const int result = flows.open_bounded(settings, session, error);
        return result == IPCMARK_DONE && has_several ? answers.open(leads, MOST_ANSWERS, settings.wait, session, error)
                                                     : result;
    }

    // True if one more message may be sent. A sender that may sleep does so until there is room.
    bool has_room() { return sends_answers() ? answers.has_room() : flows.have_room(); }

    void count_sent() { sends_answers() ? answers.count_sent() : flows.count_sent(); }

    void count_released() {
        if (takes_answers())
            answers.count_released();
        else if (flows.size() > 0)
            flows.count_released(0);
    }

  private:
    static constexpr uint64_t MOST_ANSWERS = 64;

    bool sends_answers() const { return has_several && !leads; }
    bool takes_answers() const { return has_several && leads; }

    bool leads = false, has_several = false;
    ipcmark::Flows<MOST_FOLLOWERS> flows; // Of a leader with each follower, and of one follower with the leader.
    ipcmark::Budget answers;              // Of several followers.
};

} // namespace dbus
