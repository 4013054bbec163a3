// One end: a participant with a writer on one topic and a reader on the other.
#pragma once

#include "config.hpp"
#include "message.h"

#include "shared/roudi/client.hpp"

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include <dds/dds.h>

struct ddsi_serdata;

namespace cyclonedds_module {

// A message of cyclonedds-iceoryx as it lies in shared memory. Its type has a fixed size, because the library lends
// shared memory for no other: room for `payload` bytes, of which a shorter message fills some.
struct FixedMessage {
    uint32_t len;
    uint32_t sender; // A follower's number; the leader's is 0.
    uint8_t bytes[1];
};

constexpr uint32_t FIXED_HEAD = 8;

struct End {
    Config config;
    // Counts what the library reports, so that an end can poll without the reader's locks: one that takes in a loop
    // holds them nearly always, and the library's threads starve behind it.
    std::atomic<uint64_t> arrivals{0};
    uint64_t seen_arrivals = 0; // The count when the reader was last asked.
    bool may_hold_more = true;  // The reader may hold a message that was reported before.
    dds_entity_t participant = 0, writer = 0, reader = 0, waitset = 0;

    // Of cyclonedds, which copies messages.
    std::vector<unsigned char> incoming;
    // Of cyclonedds-iceoryx, which does not.
    std::unique_ptr<ipcmark::Client> daemon;
    void *on_loan = nullptr;
    ddsi_serdata *taken = nullptr;

    // This end's own reference while it is open: threads of the library may hold another after it closed.
    std::shared_ptr<End> self;

    explicit End(Config config);
    End(const End &) = delete;
    End &operator=(const End &) = delete;

    // Makes the topics, the writer and the reader.
    void make_endpoints();
    // Waits until every other end is matched.
    void match();
    // How many readers and how many writers of other ends are matched.
    std::pair<uint32_t, uint32_t> matched() const;

    // True if the reader is to be asked: a message was reported, or the last time brought one, behind which there
    // may be another.
    bool may_have_message() {
        if (!config.polls)
            return true;
        const auto now = arrivals.load(std::memory_order_acquire);
        if (now == seen_arrivals && !may_hold_more)
            return false;
        seen_arrivals = now;
        may_hold_more = false;
        return true;
    }
};

} // namespace cyclonedds_module
