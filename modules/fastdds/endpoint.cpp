#include "endpoint.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>

#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/Topic.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>

namespace fastdds_module {

namespace dds = eprosima::fastdds::dds;
using eprosima::fastrtps::Duration_t;
using eprosima::fastrtps::rtps::SerializedPayload_t;

namespace {

// The time limit of a write for room in a full history. While polling, it is just long enough that a write does not
// fail because another thread of the library is sending at that moment.
const Duration_t WRITE_POLLING{0, 1000 * 1000}, WRITE_BLOCKING{0, 100 * 1000 * 1000};
// The time limits of closing for the last message to arrive, and of a follower for the leader to close first.
const Duration_t ACKNOWLEDGED_WITHIN{0, 200 * 1000 * 1000};
constexpr std::chrono::milliseconds UNMATCHED_WITHIN(500);
const Duration_t AT_ONCE{0, 0};

// The type of the topics ---------------------------------------------------------------------------

constexpr uint32_t HEADER = SerializedPayload_t::representation_header_size;
constexpr uint32_t BEFORE = HEADER + offsetof(Wire, bytes);

// Plain bytes of any length up to the payload, in the library's own framing.
class Bytes : public dds::TopicDataType {
  public:
    explicit Bytes(uint64_t payload) {
        setName("ipcmark-bytes");
        // The library's own sizes are multiples of four.
        m_typeSize = static_cast<uint32_t>((BEFORE + payload + 3) / 4 * 4);
        m_isGetKeyDefined = false;
        // Both endpoints are the same program: they need not describe the type to each other.
        auto_fill_type_object(false);
        auto_fill_type_information(false);
    }

    bool serialize(void *data, SerializedPayload_t *payload) override {
        const auto &sample = *static_cast<const Sample *>(data);
        if (payload->max_size < BEFORE + sample.len)
            return false;
        payload->encapsulation = DEFAULT_ENCAPSULATION;
        const uint8_t header[HEADER] = {0, DEFAULT_ENCAPSULATION, 0, 0};
        std::memcpy(payload->data, header, HEADER);
        std::memcpy(payload->data + HEADER, &sample.len, sizeof sample.len);
        std::memcpy(payload->data + BEFORE, sample.bytes, sample.len);
        payload->length = BEFORE + sample.len;
        return true;
    }

    bool deserialize(SerializedPayload_t *payload, void *data) override {
        auto &sample = *static_cast<Sample *>(data);
        uint32_t len;
        if (payload->length < BEFORE)
            return false;
        std::memcpy(&len, payload->data + HEADER, sizeof len);
        if (len > payload->length - BEFORE || len > m_typeSize - BEFORE)
            return false;
        std::memcpy(sample.bytes, payload->data + BEFORE, len);
        sample.len = len;
        return true;
    }

    std::function<uint32_t()> getSerializedSizeProvider(void *data) override {
        const uint32_t size = BEFORE + static_cast<const Sample *>(data)->len;
        return [size] { return size; };
    }

    void *createData() override { return new uint8_t[m_typeSize]; }
    void deleteData(void *data) override { delete[] static_cast<uint8_t *>(data); }
    bool getKey(void *, eprosima::fastrtps::rtps::InstanceHandle_t *, bool) override { return false; }
    bool is_bounded() const override { return true; }
    bool is_plain() const override { return true; }
};

// Writer and reader --------------------------------------------------------------------------------

dds::DataSharingQosPolicy sharing(const Config &config) {
    dds::DataSharingQosPolicy policy;
    if (config.sharing == Sharing::On)
        policy.on(pool_directory(config.name));
    else if (config.sharing == Sharing::Off)
        policy.off();
    else
        policy.automatic(pool_directory(config.name));
    return policy;
}

// The policies that a writer and a reader have in common, with the number of messages that the history has room for. A
// history that keeps all messages makes a writer wait while it is full; one that keeps the last would drop.
template <typename Qos> void set_common(const Config &config, uint32_t most, Qos &qos) {
    qos.reliability().kind = config.reliable ? dds::RELIABLE_RELIABILITY_QOS : dds::BEST_EFFORT_RELIABILITY_QOS;
    qos.durability().kind = dds::VOLATILE_DURABILITY_QOS;
    qos.history().kind = dds::KEEP_ALL_HISTORY_QOS;
    auto &limits = qos.resource_limits();
    limits.max_instances = 1;
    limits.max_samples = limits.max_samples_per_instance = static_cast<int32_t>(most);
    limits.allocated_samples = static_cast<int32_t>(config.history);
    limits.extra_samples = static_cast<int32_t>(config.spare);
    qos.endpoint().history_memory_policy = eprosima::fastrtps::rtps::PREALLOCATED_MEMORY_MODE;
    qos.data_sharing(sharing(config));
}

dds::DataWriterQos writer_qos(const Config &config, dds::DataWriterQos qos) {
    set_common(config, config.history, qos);
    qos.reliability().max_blocking_time = config.spins ? WRITE_POLLING : WRITE_BLOCKING;
    auto &times = qos.reliable_writer_qos().times;
    times.heartbeatPeriod = Duration_t(0, config.heartbeat_ms() * 1000 * 1000);
    times.nackResponseDelay = AT_ONCE;
    return qos;
}

// A reader has room for the histories of all its writers. With data sharing, a reader that has no room for a message
// reads it again and again and never the next one (2.9.1 and 2.14.6).
dds::DataReaderQos reader_qos(const Config &config, dds::DataReaderQos qos) {
    set_common(config, config.history * config.peers(), qos);
    qos.reliable_reader_qos().times.heartbeatResponseDelay = AT_ONCE;
    return qos;
}

template <typename Entity> Entity *created(Entity *entity, const char *what) {
    if (!entity)
        throw Failure{"create", what, last_error("Fast DDS does not say why"), ""};
    return entity;
}

} // namespace

End::End(Config the_config) : config(std::move(the_config)), outgoing(config.payload, 0), incoming(config.payload, 0) {
    ipcmark_touch(outgoing.data(), outgoing.size());
    ipcmark_touch(incoming.data(), incoming.size());
}

End::~End() {
    if (!participant)
        return;
    if (taken.length() > 0)
        reader->return_loan(taken, infos);
    if (on_loan)
        writer->discard_loan(on_loan);
    // The library can deadlock if a message is sent again while its reader closes, and if both endpoints close at the
    // same time.
    if (writer)
        writer->wait_for_acknowledgments(ACKNOWLEDGED_WITHIN);
    if (!config.leads && writer && reader)
        ipcmark::holds_within(UNMATCHED_WITHIN, [this] { return matched() == std::pair(0, 0); });
    participant->delete_contained_entities();
    dds::DomainParticipantFactory::get_instance()->delete_participant(participant);
}

void End::make_endpoints() {
    dds::TypeSupport type(new Bytes(config.payload));
    type.register_type(participant);
    const auto to = leader_topic(config), fro = follower_topic(config);
    const auto topic = [&](const std::string &name) {
        return created(participant->create_topic(name, type.get_type_name(), dds::TOPIC_QOS_DEFAULT),
                       "a topic of Fast DDS");
    };
    auto *const out = topic(config.leads ? to : fro), *const back = topic(config.leads ? fro : to);
    auto *publisher = created(participant->create_publisher(dds::PUBLISHER_QOS_DEFAULT), "a publisher of Fast DDS");
    auto *subscriber = created(participant->create_subscriber(dds::SUBSCRIBER_QOS_DEFAULT), "a subscriber of Fast DDS");
    const auto own_reader_qos = reader_qos(config, subscriber->get_default_datareader_qos());
    const auto own_writer_qos = writer_qos(config, publisher->get_default_datawriter_qos());
    auto *const listener = config.polls ? &arrivals : nullptr;
    reader = created(subscriber->create_datareader(back, own_reader_qos, listener, dds::StatusMask::data_available()),
                     "a reader of Fast DDS");
    writer = created(publisher->create_datawriter(out, own_writer_qos), "a writer of Fast DDS");
    auto &condition = reader->get_statuscondition();
    condition.set_enabled_statuses(dds::StatusMask::data_available());
    waitset.attach_condition(condition);
    triggered.reserve(1);
}

std::pair<int, int> End::matched() {
    dds::PublicationMatchedStatus readers;
    dds::SubscriptionMatchedStatus writers;
    writer->get_publication_matched_status(readers);
    reader->get_subscription_matched_status(writers);
    return {readers.current_count, writers.current_count};
}

void End::match(const ipcmark::Deadline &deadline) {
    const auto wanted = static_cast<int>(config.peers());
    if (ipcmark::holds_by(deadline, [&] { return matched() == std::pair(wanted, wanted); }))
        return;
    const auto [readers, writers] = matched();
    const auto counts =
        deadline.missed(std::to_string(std::min(readers, writers)) + " of " + std::to_string(wanted) + " matched");
    throw Failure{"reach", config.leads ? "the followers" : "the leader", last_error(counts),
                  config.secure ? "both ends need certificates of one authority" : ""};
}

} // namespace fastdds_module
