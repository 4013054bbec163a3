// A bound on the unreleased messages of an endpoint of a bus, in both directions. A bus does not make a sender wait:
// dbus-broker drops messages. dbus-daemon can stop to read from a client (`max_incoming_bytes`), but what it has read
// before then stays in its buffer until the client sends more, although there is room again.
#pragma once

#include "shared/cpp/budget.hpp"
#include "shared/cpp/flows.hpp"

#include <ctime>

namespace dbus {

class Flow {
  public:
    static constexpr uint32_t MOST_FOLLOWERS = 64;

    // Must be called by all endpoints of a bus. Without it there is always room.
    int open(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
        leads = settings.role == IPCMARK_LEADER;
        has_several = settings.subscribers > 1;
        sleeps = settings.wait != IPCMARK_SPIN;
        flows.expect(session->peers);
        const int result = flows.open_bounded(settings, session, error);
        return result == IPCMARK_DONE && has_several ? answers.open(leads, MOST_ANSWERS, sleeps, session, error)
                                                     : result;
    }

    // True if one more message may be sent. A sleeping sender sleeps for a moment if not: the receiver has many
    // messages to take before then, or a long one.
    bool has_room() {
        if (sends_answers())
            return answers.has_room();
        if (flows.have_room())
            return true;
        if (sleeps)
            nanosleep(&MOMENT, nullptr);
        return false;
    }

    void count_sent() { sends_answers() ? answers.count_sent() : flows.count_sent(); }

    void count_released() {
        if (takes_answers())
            answers.count_released();
        else if (flows.size() > 0)
            flows.count_released(0);
    }

  private:
    static constexpr uint64_t MOST_ANSWERS = 64;
    static constexpr timespec MOMENT = {0, 50'000};

    bool sends_answers() const { return has_several && !leads; }
    bool takes_answers() const { return has_several && leads; }

    bool leads = false, has_several = false, sleeps = false;
    ipcmark::Flows<MOST_FOLLOWERS> flows; // Of a leader with each follower, and of one follower with the leader.
    ipcmark::Budget answers;              // Of several followers.
};

} // namespace dbus
