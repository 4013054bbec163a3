// Topics, writers and readers, and what is set of them.
#include "endpoint.hpp"

#include <chrono>
#include <thread>

#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/Topic.hpp>

namespace fastdds_module {

namespace dds = eprosima::fastdds::dds;
using eprosima::fastrtps::Duration_t;

namespace {

// How long ends may take to find one another, and to agree on keys.
constexpr std::chrono::seconds PATIENCE(8);
// How long a full history is waited for: while polling just long enough that a send is not given up
// because another thread of the library is sending at that moment.
const Duration_t WHILE_POLLING{0, 1000 * 1000}, WHILE_BLOCKING{0, 100 * 1000 * 1000};
// How long the last message may take to arrive, and the leader to go first, so that the end can be
// closed.
const Duration_t UNTIL_RECEIVED{0, 200 * 1000 * 1000};
constexpr std::chrono::milliseconds UNTIL_ALONE(500);
const Duration_t AT_ONCE{0, 0}, HEARTBEAT{0, 10 * 1000 * 1000};

dds::DataSharingQosPolicy sharing(const Plan &plan) {
    dds::DataSharingQosPolicy policy;
    if (plan.sharing == Sharing::On)
        policy.on(pool_directory(plan.name));
    else if (plan.sharing == Sharing::Off)
        policy.off();
    else
        policy.automatic(pool_directory(plan.name));
    return policy;
}

// What a writer and a reader have in common. A history that keeps all makes a full one wait, where
// one that keeps the last would drop.
template <typename Qos> void set_common(const Plan &plan, Qos &qos) {
    const auto depth = static_cast<int32_t>(plan.history);
    qos.reliability().kind =
        plan.reliable ? dds::RELIABLE_RELIABILITY_QOS : dds::BEST_EFFORT_RELIABILITY_QOS;
    qos.durability().kind = dds::VOLATILE_DURABILITY_QOS;
    qos.history().kind = dds::KEEP_ALL_HISTORY_QOS;
    auto &limits = qos.resource_limits();
    limits.max_instances = 1;
    limits.max_samples = limits.max_samples_per_instance = depth;
    limits.allocated_samples = depth;
    limits.extra_samples = static_cast<int32_t>(plan.spare);
    qos.endpoint().history_memory_policy = eprosima::fastrtps::rtps::PREALLOCATED_MEMORY_MODE;
    qos.data_sharing(sharing(plan));
}

dds::DataWriterQos writer_qos(const Plan &plan, dds::DataWriterQos qos) {
    set_common(plan, qos);
    qos.reliability().max_blocking_time = plan.spins ? WHILE_POLLING : WHILE_BLOCKING;
    auto &times = qos.reliable_writer_qos().times;
    times.heartbeatPeriod = HEARTBEAT;
    times.nackResponseDelay = AT_ONCE;
    return qos;
}

dds::DataReaderQos reader_qos(const Plan &plan, dds::DataReaderQos qos) {
    set_common(plan, qos);
    qos.reliable_reader_qos().times.heartbeatResponseDelay = AT_ONCE;
    return qos;
}

template <typename Condition> bool wait_for(Condition holds, std::chrono::milliseconds patience) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > deadline)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

template <typename Made> Made *made(Made *thing, const char *what) {
    if (!thing)
        throw Failure{"create", what, last_words("Fast DDS does not say why"), ""};
    return thing;
}

} // namespace

End::End(Plan the_plan)
    : plan(std::move(the_plan)), outgoing(plan.payload, 0), incoming(plan.payload, 0) {
    ipcmark_touch(outgoing.data(), outgoing.size());
    ipcmark_touch(incoming.data(), incoming.size());
}

End::~End() {
    if (!participant)
        return;
    if (taken.length() > 0)
        reader->return_loan(taken, infos);
    if (lent)
        writer->discard_loan(lent);
    // A message that is sent again while its reader goes away can lock the library up; so can ends
    // that go at the same moment.
    if (writer)
        writer->wait_for_acknowledgments(UNTIL_RECEIVED);
    if (!plan.leads && writer && reader)
        wait_for([this] { return matched() == std::pair(0, 0); }, UNTIL_ALONE);
    participant->delete_contained_entities();
    dds::DomainParticipantFactory::get_instance()->delete_participant(participant);
}

void End::make_endpoints() {
    dds::TypeSupport type(new Bytes(plan.payload));
    type.register_type(participant);
    const auto to = leaders_topic(plan), fro = followers_topic(plan);
    const auto topic = [&](const std::string &name) {
        return made(participant->create_topic(name, type.get_type_name(), dds::TOPIC_QOS_DEFAULT),
                    "a topic of Fast DDS");
    };
    auto *const out = topic(plan.leads ? to : fro), *const back = topic(plan.leads ? fro : to);
    auto *publisher = made(participant->create_publisher(dds::PUBLISHER_QOS_DEFAULT),
                           "a publisher of Fast DDS");
    auto *subscriber = made(participant->create_subscriber(dds::SUBSCRIBER_QOS_DEFAULT),
                            "a subscriber of Fast DDS");
    const auto own_qos = reader_qos(plan, subscriber->get_default_datareader_qos());
    reader = made(subscriber->create_datareader(back, own_qos, plan.polls ? &news : nullptr,
                                                dds::StatusMask::data_available()),
                  "a reader of Fast DDS");
    writer = made(publisher->create_datawriter(
                      out, writer_qos(plan, publisher->get_default_datawriter_qos())),
                  "a writer of Fast DDS");
    auto &condition = reader->get_statuscondition();
    condition.set_enabled_statuses(dds::StatusMask::data_available());
    awaited.attach_condition(condition);
    awake.reserve(1);
}

std::pair<int, int> End::matched() {
    dds::PublicationMatchedStatus readers;
    dds::SubscriptionMatchedStatus writers;
    writer->get_publication_matched_status(readers);
    reader->get_subscription_matched_status(writers);
    return {readers.current_count, writers.current_count};
}

void End::match() {
    const int wanted = plan.leads ? static_cast<int>(plan.followers) : 1;
    if (wait_for([&] { return matched() == std::pair(wanted, wanted); }, PATIENCE))
        return;
    const auto [readers, writers] = matched();
    const auto counts = std::to_string(std::min(readers, writers)) + " of " + std::to_string(wanted) +
                        " matched within 8 s";
    throw Failure{"reach", plan.leads ? "the followers" : "the leader",
                  last_words(counts),
                  plan.secure ? "both ends need certificates of one authority" : ""};
}

} // namespace fastdds_module
