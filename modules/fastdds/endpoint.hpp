// One end: a participant with a writer on one topic and a reader on the other.
#pragma once

#include "config.hpp"
#include "log.hpp"

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include <fastdds/dds/core/LoanableSequence.hpp>
#include <fastdds/dds/core/condition/WaitSet.hpp>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>

namespace fastdds_module {

// A message in the library's memory, behind the four bytes that the library puts in front: eight bytes in all before
// the bytes of ipcmark, which are aligned as those of a plain program would be.
struct Wire {
    uint32_t len;
    uint8_t bytes[1];
};

// A message to be copied into or out of the library's memory.
struct Sample {
    void *bytes;
    uint32_t len;
};

// Counts what the library reports, so that an end can poll without the reader's lock: one that takes in a loop holds
// that lock nearly always, and the library's threads starve behind it.
struct Arrivals : eprosima::fastdds::dds::DataReaderListener {
    std::atomic<uint64_t> count{0};

    void on_data_available(eprosima::fastdds::dds::DataReader *) override {
        // Release: the message is in the reader's history by now.
        count.fetch_add(1, std::memory_order_release);
    }
};

struct End {
    LogThread log_thread;
    Config config;
    Arrivals arrivals;
    uint64_t seen_arrivals = 0; // The count when the reader was last asked.
    bool may_hold_more = true;  // The reader may hold a message that was reported before.
    eprosima::fastdds::dds::DomainParticipant *participant = nullptr;
    eprosima::fastdds::dds::DataWriter *writer = nullptr;
    eprosima::fastdds::dds::DataReader *reader = nullptr;
    eprosima::fastdds::dds::WaitSet waitset;
    eprosima::fastdds::dds::ConditionSeq triggered;

    // Without loans: messages are copied here.
    std::vector<unsigned char> outgoing, incoming;
    // With loans: messages stay in the library's memory.
    eprosima::fastdds::dds::LoanableSequence<Wire> taken;
    eprosima::fastdds::dds::SampleInfoSeq infos;
    void *on_loan = nullptr;

    explicit End(Config config);
    ~End();
    End(const End &) = delete;
    End &operator=(const End &) = delete;

    // Makes the topics, the writer and the reader.
    void make_endpoints();
    // Waits until every other end is matched.
    void match();
    // How many readers and how many writers of other ends are matched.
    std::pair<int, int> matched();

    // True if the reader is to be asked: a message was reported, or the last time brought one, behind which there
    // may be another.
    bool may_have_message() {
        const auto now = arrivals.count.load(std::memory_order_acquire);
        if (now == seen_arrivals && !may_hold_more)
            return false;
        seen_arrivals = now;
        may_hold_more = false;
        return true;
    }
};

} // namespace fastdds_module
