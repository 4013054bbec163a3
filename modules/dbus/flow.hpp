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

    // Must be called by all endpoints. From then on senders have to ask for room.
    int open(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
        is_open = true;
        leads = settings.role == IPCMARK_LEADER;
        has_several = settings.subscribers > 1;
        sleeps = settings.wait != IPCMARK_SPIN;
        flows.expect(session->peers);
        const int result = flows.open_bounded(settings, session, error);
        return result == IPCMARK_DONE && has_several ? answers.open(leads, MOST_ANSWERS, session, error) : result;
    }

    // True if one more message may be sent. A sleeping sender sleeps for a moment if not: the receiver has many
    // messages to take before then, or a long one.
    bool has_room() {
        if (!is_open || (sends_answers() ? answers.has_room() : flows.have_room()))
            return true;
        if (sleeps)
            nanosleep(&MOMENT, nullptr);
        return false;
    }

    void count_sent() {
        if (is_open)
            sends_answers() ? answers.count_sent() : flows.count_sent();
    }

    void count_released() {
        if (is_open)
            has_several &&leads ? answers.count_released() : flows.count_released(0);
    }

  private:
    static constexpr uint64_t MOST_ANSWERS = 64;
    static constexpr timespec MOMENT = {0, 50'000};

    bool sends_answers() const { return has_several && !leads; }

    bool is_open = false, leads = false, has_several = false, sleeps = false;
    ipcmark::Flows<MOST_FOLLOWERS> flows; // Of a leader with each follower, and of one follower with the leader.
    ipcmark::Budget answers;              // Of several followers.
};

} // namespace dbus
