#include "endpoint.hpp"

#include "log.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>

#include <dds/ddsc/dds_loan_api.h>

namespace cyclonedds_module {

namespace {

// The longest sleep of an endpoint that waits for room in a full history.
constexpr dds_duration_t LONGEST_SLEEP = DDS_MSECS(100);

static_assert(offsetof(FixedMessage, bytes) == FIXED_HEAD, "a message is aligned as a plain program's would be");

dds_entity_t created(dds_entity_t entity, const char *what) {
    if (entity < 0)
        throw Failure{"create", what, last_error(dds_strretcode(entity)), ""};
    return entity;
}

// Topics ------------------------------------------------------------------------------------------

// A topic's name has letters, digits and '_'.
std::string topic_name(const Config &config, const char *direction) {
    std::string name = "ipcmark-" + config.name + "-" + direction;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

// The descriptor that the IDL compiler would generate for a struct of two numbers and an array of octets. It cannot,
// because the array's length is known only at run time.
dds_entity_t make_fixed_topic(dds_entity_t participant, const char *name, uint64_t payload) {
    const auto octets = static_cast<uint32_t>((payload + 3) / 4 * 4);
    // NOLINTBEGIN(bugprone-suspicious-enum-usage): the library defines the bits of an operation in several enums.
    const uint32_t ops[] = {
        DDS_OP_ADR | DDS_OP_TYPE_4BY,
        offsetof(FixedMessage, len),
        DDS_OP_ADR | DDS_OP_TYPE_4BY,
        offsetof(FixedMessage, sender),
        DDS_OP_ADR | DDS_OP_TYPE_ARR | DDS_OP_SUBTYPE_1BY,
        FIXED_HEAD,
        octets,
        DDS_OP_RTS,
    };
    // NOLINTEND(bugprone-suspicious-enum-usage)
    // Types of different sizes have different names.
    const std::string type = "ipcmark::FixedMessage" + std::to_string(octets);
    const dds_topic_descriptor_t descriptor = {
        FIXED_HEAD + octets,   // m_size
        alignof(FixedMessage), // m_align
        DDS_TOPIC_FIXED_SIZE,  // m_flagset
        0,                     // m_nkeys
        type.c_str(),          // m_typename
        nullptr,               // m_keys
        4,                     // m_nops
        ops,                   // m_ops
        "",                    // m_meta
        {},                    // type_information
        {},                    // type_mapping
        0,                     // restrict_data_representation
    };
    // The library copies all of it.
    return dds_create_topic(participant, &descriptor, name, nullptr, nullptr);
}

dds_entity_t make_topic(const End &end, const char *direction) {
    const auto name = topic_name(end.config, direction);
    if (end.config.shares)
        return created(make_fixed_topic(end.participant, name.c_str(), end.config.payload), "a topic of Cyclone DDS");
    return created(dds_create_topic(end.participant, &ipcmark_Message_desc, name.c_str(), nullptr, nullptr),
                   "a topic of Cyclone DDS");
}

// Writer and reader -------------------------------------------------------------------------------

struct Qos {
    dds_qos_t *const qos = dds_create_qos();
    Qos() = default;
    Qos(const Qos &) = delete;
    Qos &operator=(const Qos &) = delete;
    ~Qos() { dds_delete_qos(qos); }
};

// The policies that a writer and a reader have in common. Over UDP a history keeps all messages, so that a full one
// makes the writer wait; one that keeps the last would drop. The library shares memory only with histories that keep
// the last.
void set_common(const Config &config, dds_qos_t *qos) {
    // A leader's reader keeps the messages of every follower in one history.
    const auto depth = static_cast<int32_t>(config.history * (config.leads ? config.followers : 1));
    dds_qset_reliability(qos, config.reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT,
                         config.spins ? 0 : LONGEST_SLEEP);
    dds_qset_durability(qos, DDS_DURABILITY_VOLATILE);
    if (config.shares) {
        dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, depth);
    } else {
        dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, 0);
        dds_qset_resource_limits(qos, depth, 1, depth);
    }
}

// Called by a thread of the library, once the message is in the reader's history.
void count_arrival(dds_entity_t, void *arrivals) {
    static_cast<std::atomic<uint64_t> *>(arrivals)->fetch_add(1, std::memory_order_release);
}

dds_entity_t make_reader(End &end, dds_entity_t topic, const dds_qos_t *qos) {
    dds_listener_t *const listener = dds_create_listener(&end.arrivals);
    if (end.config.polls)
        dds_lset_data_available(listener, count_arrival);
    const dds_entity_t reader = dds_create_reader(end.participant, topic, qos, listener);
    dds_delete_listener(listener);
    return created(reader, "a reader of Cyclone DDS");
}

// A waitset that does not sleep while the reader has a message.
dds_entity_t make_waitset(dds_entity_t participant, dds_entity_t reader) {
    const dds_entity_t set = created(dds_create_waitset(participant), "a waitset of Cyclone DDS");
    const dds_entity_t condition =
        created(dds_create_readcondition(reader, DDS_ANY_STATE), "a condition of Cyclone DDS");
    created(dds_waitset_attach(set, condition, 0), "a waitset of Cyclone DDS");
    return set;
}

} // namespace

End::End(Config the_config) : config(std::move(the_config)), incoming(config.shares ? 0 : config.payload, 0) {
    ipcmark_touch(incoming.data(), incoming.size());
}

void End::make_endpoints() {
    const dds_entity_t there = make_topic(*this, "there"), back = make_topic(*this, "back");
    const Qos common;
    set_common(config, common.qos);
    reader = make_reader(*this, config.leads ? back : there, common.qos);
    waitset = make_waitset(participant, reader);
    writer = created(dds_create_writer(participant, config.leads ? there : back, common.qos, nullptr),
                     "a writer of Cyclone DDS");
    if (config.shares && !(dds_is_loan_available(writer) && dds_is_loan_available(reader)))
        throw Failure{"share", "memory by iceoryx", last_error("this Cyclone DDS does not do so"),
                      "it must be built with iceoryx, as Debian's is"};
}

std::pair<uint32_t, uint32_t> End::matched() const {
    dds_publication_matched_status_t readers{};
    dds_subscription_matched_status_t writers{};
    dds_get_publication_matched_status(writer, &readers);
    dds_get_subscription_matched_status(reader, &writers);
    return {readers.current_count, writers.current_count};
}

void End::match(const ipcmark::Deadline &deadline) {
    const uint32_t wanted = config.leads ? config.followers : 1;
    if (ipcmark::holds_by(deadline, [&] { return matched() == std::pair(wanted, wanted); }))
        return;
    const auto [readers, writers] = matched();
    const auto counts =
        deadline.missed(std::to_string(std::min(readers, writers)) + " of " + std::to_string(wanted) + " matched");
    throw Failure{"reach", config.leads ? "the followers" : "the leader", last_error(counts), ""};
}

} // namespace cyclonedds_module
