// One endpoint: a participant with a writer on one topic and a reader on the other.
#pragma once

#include "config.hpp"
#include "log.hpp"

#include "shared/cpp/within.hpp"

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

// A message in the library's memory, after the library's own four bytes: eight bytes in all precede the bytes of
// ipcmark, which are aligned as those of a plain program would be.
struct Wire {
    uint32_t len;
    uint8_t bytes[1];
};

// A message to copy into or out of the library's memory.
struct Sample {
    void *bytes;
    uint32_t len;
};

// The number of arrivals that the library reported. With it an endpoint polls without the reader's lock: takes in a
// loop would hold the lock nearly always, and starve the library's threads.
struct Arrivals : eprosima::fastdds::dds::DataReaderListener {
    std::atomic<uint64_t> count{0};

    void on_data_available(eprosima::fastdds::dds::DataReader *) override {
        // Release: the message is already in the reader's history.
        count.fetch_add(1, std::memory_order_release);
    }
};

struct End {
    LogThread log_thread;
    Config config;
    Arrivals arrivals;
    uint64_t seen_arrivals = 0; // The count at the last take.
    bool may_hold_more = true;  // The reader may have an earlier reported message.
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
    // Waits until all other endpoints are matched, which includes that they agree on keys.
    void match(const ipcmark::Deadline &deadline);
    // The numbers of readers and of writers of other endpoints that are matched.
    std::pair<int, int> matched();

    // True if a take is due: a message was reported, or the last take got one, after which there may be another.
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
