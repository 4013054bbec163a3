// One end: a participant with a writer on one topic and a reader on the other.
#pragma once

#include "fastdds.hpp"
#include "type.hpp"
#include "words.hpp"

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

// Counts what the library reports, so that an end can poll without the reader's lock: one that takes
// in a loop holds that lock nearly always, and the library's threads starve behind it.
struct News : eprosima::fastdds::dds::DataReaderListener {
    std::atomic<uint64_t> count{0};

    void on_data_available(eprosima::fastdds::dds::DataReader *) override {
        // Released with the message, which is in the reader's history by now.
        count.fetch_add(1, std::memory_order_release);
    }
};

struct End {
    Speech speech;
    Plan plan;
    News news;
    uint64_t heard = 0; // Of the news, when the reader was last asked.
    bool more = true;   // The reader may hold a message that was reported before.
    eprosima::fastdds::dds::DomainParticipant *participant = nullptr;
    eprosima::fastdds::dds::DataWriter *writer = nullptr;
    eprosima::fastdds::dds::DataReader *reader = nullptr;
    eprosima::fastdds::dds::WaitSet awaited;
    eprosima::fastdds::dds::ConditionSeq awake;

    // Where messages are copied.
    std::vector<unsigned char> outgoing, incoming;
    // Where they are not.
    eprosima::fastdds::dds::LoanableSequence<Wire> taken;
    eprosima::fastdds::dds::SampleInfoSeq infos;
    void *lent = nullptr;

    explicit End(Plan plan);
    ~End();
    End(const End &) = delete;
    End &operator=(const End &) = delete;

    // Makes the topics, the writer and the reader.
    void make_endpoints();
    // Sleeps until every other end is matched.
    void match();
    // How many readers and how many writers of other ends are matched.
    std::pair<int, int> matched();
};

} // namespace fastdds_module
