// One end: a participant with a writer on one topic and a reader on the other.
#pragma once

#include "cyclonedds.hpp"
#include "message.h"

#include <atomic>
#include <memory>
#include <vector>

#include <dds/dds.h>

struct ddsi_serdata;

namespace cyclonedds_module {

class Sharing;

struct End {
    Plan plan;
    // What the library has reported, so that an end can poll without the reader's locks: one that takes
    // in a loop holds them nearly always, and the library's threads starve behind it.
    std::atomic<uint64_t> news{0};
    uint64_t heard = 0; // Of the news, when the reader was last asked.
    bool more = true;   // The reader may hold a message that was reported before.
    dds_entity_t participant = 0, writer = 0, reader = 0, awaited = 0;

    // Where messages are copied.
    std::vector<unsigned char> incoming;
    // Where they are not.
    std::shared_ptr<Sharing> sharing;
    void *lent = nullptr;
    ddsi_serdata *taken = nullptr;

    // Its own share while it is open: the library's threads may have another when it closes.
    std::shared_ptr<End> self;

    explicit End(Plan plan);
    End(const End &) = delete;
    End &operator=(const End &) = delete;

    // Makes the topics, the writer and the reader.
    void make_endpoints();
    // Sleeps until every other end is matched.
    void match();
};

// Whether to ask the reader: something was reported, or the last time brought a message, behind which
// there may be another.
inline bool anything_new(End &end) {
    if (!end.plan.polls)
        return true;
    const auto now = end.news.load(std::memory_order_acquire);
    if (now == end.heard && !end.more)
        return false;
    end.heard = now;
    end.more = false;
    return true;
}

// A code of the library's as a result of the contract. A full history is a timeout.
int outcome(dds_return_t code, ipcmark_error *error, const char *operation);

} // namespace cyclonedds_module
