// One endpoint: a participant with a writer on one topic and a reader on the other.
#pragma once

#include "config.hpp"
#include "message.h"

#include "shared/cpp/within.hpp"
#include "shared/roudi/client.hpp"

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include <dds/dds.h>

struct ddsi_serdata;

namespace cyclonedds_module {

// A message of cyclonedds-iceoryx in shared memory. Its type has a fixed size, because the library lends shared memory
// for no other: room for `payload` bytes, which a shorter message fills partly.
struct FixedMessage {
    uint32_t len;
    uint32_t sender; // A follower's number; the leader's is 0.
    uint8_t bytes[1];
};

constexpr uint32_t FIXED_HEAD = 8;

struct End {
    Config config;
    // The number of arrivals that the library reported. With it an endpoint polls without the reader's locks: takes in
    // a loop would hold them nearly always, and starve the library's threads.
    std::atomic<uint64_t> arrivals{0};
    uint64_t seen_arrivals = 0; // The count at the last take.
    bool may_hold_more = true;  // The reader may have an earlier reported message.
    dds_entity_t participant = 0, writer = 0, reader = 0, waitset = 0;

    // Used by cyclonedds, which copies messages.
    std::vector<unsigned char> incoming;
    // Used by cyclonedds-iceoryx, which does not copy.
    std::unique_ptr<ipcmark::Client> daemon;
    void *on_loan = nullptr;
    ddsi_serdata *taken = nullptr;
    uint32_t sender = 0; // The sender of the taken message.

    // This endpoint's own reference while it is open: threads of the library may hold another after it closed.
    std::shared_ptr<End> self;

    explicit End(Config config);
    End(const End &) = delete;
    End &operator=(const End &) = delete;

    // Makes the topics, the writer and the reader.
    void make_endpoints();
    // Waits until all other endpoints are matched.
    void match(const ipcmark::Deadline &deadline);
    // The numbers of readers and of writers of other endpoints that are matched.
    std::pair<uint32_t, uint32_t> matched() const;

    // True if a take is due: a message was reported, or the last take got one, after which there may be another.
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
