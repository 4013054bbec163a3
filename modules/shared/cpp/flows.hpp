// Flow control of an endpoint with each of its peers, if one publication reaches all of them.
#pragma once

#include "shared/cpp/flow_control.hpp"

#include <algorithm>

namespace ipcmark {

// MOST is the maximum number of peers for a library.
template <uint32_t MOST> class Flows {
  public:
    // Must be called first.
    void expect(uint32_t peers) { count = std::min(peers, MOST); }
    uint32_t size() const { return count; }

    int open_bounded(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
        for (uint32_t peer = 0; peer < count; peer++)
            if (const int result = flows[peer].open_bounded(settings, session, error, peer))
                return result;
        return IPCMARK_DONE;
    }

    // True if one more message may be sent to all. A sender that may sleep does so, 10 ms at most for each.
    bool have_room() {
        return std::all_of(flows, flows + count, [](FlowControl &flow) { return flow.has_room(); });
    }

    void count_sent() {
        std::for_each(flows, flows + count, [](FlowControl &flow) { flow.count_sent(); });
    }

    void count_released(uint32_t peer) { flows[peer].count_released(); }

    // True if one of them has closed, or died.
    bool is_a_peer_closed() const {
        return std::any_of(flows, flows + count, [](const FlowControl &flow) { return flow.is_peer_closed(); });
    }

    // True if this end slept for room in vain, because one of them has closed, or died.
    bool are_abandoned() const {
        return std::any_of(flows, flows + count, [](const FlowControl &flow) { return flow.is_abandoned(); });
    }

  private:
    FlowControl flows[MOST];
    uint32_t count = 0;
};

} // namespace ipcmark
