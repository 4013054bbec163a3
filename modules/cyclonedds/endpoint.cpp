// Topics, writers and readers, and what is set of them.
#include "endpoint.hpp"

#include "domain.hpp"
#include "room.hpp"
#include "words.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include <dds/ddsc/dds_loan_api.h>

namespace cyclonedds_module {

namespace {

// How long ends may take to find one another.
constexpr std::chrono::seconds PATIENCE(8);
// How long a full history is waited for where an end may sleep.
constexpr dds_duration_t WHILE_BLOCKING = DDS_MSECS(100);

// What a name of the library's stands for, or a failure.
dds_entity_t made(dds_entity_t entity, const char *what) {
    if (entity < 0)
        throw Failure{"create", what, last_words(dds_strretcode(entity)), ""};
    return entity;
}

struct Qos {
    dds_qos_t *const qos = dds_create_qos();
    ~Qos() { dds_delete_qos(qos); }
};

// What a writer and a reader have in common. Over UDP a history keeps all, which makes a full one wait
// where one that keeps the last would drop. The library shares memory with the other kind alone.
void set_common(const Plan &plan, dds_qos_t *qos) {
    // A leader's reader keeps the messages of every follower in one history.
    const auto depth = static_cast<int32_t>(plan.history * (plan.leads ? plan.followers : 1));
    dds_qset_reliability(qos, plan.reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT,
                         plan.spins ? 0 : WHILE_BLOCKING);
    dds_qset_durability(qos, DDS_DURABILITY_VOLATILE);
    if (plan.shares) {
        dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, depth);
    } else {
        dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, 0);
        dds_qset_resource_limits(qos, depth, 1, depth);
    }
}

// A thread of the library calls it, with the message in the reader's history.
void count_news(dds_entity_t, void *news) {
    static_cast<std::atomic<uint64_t> *>(news)->fetch_add(1, std::memory_order_release);
}

// Names of topics have letters, digits and '_'.
std::string topic_name(const Plan &plan, const char *direction) {
    std::string name = "ipcmark-" + plan.name + "-" + direction;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

dds_entity_t make_topic(const End &end, const char *direction) {
    const auto name = topic_name(end.plan, direction);
    if (end.plan.shares)
        return made(make_room_topic(end.participant, name.c_str(), end.plan.payload),
                    "a topic of Cyclone DDS");
    return made(dds_create_topic(end.participant, &ipcmark_Message_desc, name.c_str(), nullptr, nullptr),
                "a topic of Cyclone DDS");
}

dds_entity_t make_reader(End &end, dds_entity_t topic, const dds_qos_t *qos) {
    dds_listener_t *const listener = dds_create_listener(&end.news);
    if (end.plan.polls)
        dds_lset_data_available(listener, count_news);
    const dds_entity_t reader = dds_create_reader(end.participant, topic, qos, listener);
    dds_delete_listener(listener);
    return made(reader, "a reader of Cyclone DDS");
}

// What an end sleeps on: while the reader holds a message it does not.
dds_entity_t make_awaited(dds_entity_t participant, dds_entity_t reader) {
    const dds_entity_t set = made(dds_create_waitset(participant), "a waitset of Cyclone DDS");
    const dds_entity_t condition =
        made(dds_create_readcondition(reader, DDS_ANY_STATE), "a condition of Cyclone DDS");
    made(dds_waitset_attach(set, condition, 0), "a waitset of Cyclone DDS");
    return set;
}

} // namespace

End::End(Plan the_plan) : plan(std::move(the_plan)), incoming(plan.shares ? 0 : plan.payload, 0) {
    ipcmark_touch(incoming.data(), incoming.size());
}

void End::make_endpoints() {
    const dds_entity_t there = make_topic(*this, "there"), back = make_topic(*this, "back");
    const Qos common;
    set_common(plan, common.qos);
    reader = make_reader(*this, plan.leads ? back : there, common.qos);
    awaited = make_awaited(participant, reader);
    writer = made(dds_create_writer(participant, plan.leads ? there : back, common.qos, nullptr),
                  "a writer of Cyclone DDS");
    if (plan.shares && !(dds_is_loan_available(writer) && dds_is_loan_available(reader)))
        throw Failure{"share", "memory by iceoryx", last_words("this Cyclone DDS does not do so"),
                      "it must be built with iceoryx, as Debian's is"};
}

void End::match() {
    const uint32_t wanted = plan.leads ? plan.followers : 1;
    const auto deadline = std::chrono::steady_clock::now() + PATIENCE;
    dds_publication_matched_status_t readers{};
    dds_subscription_matched_status_t writers{};
    for (;;) {
        dds_get_publication_matched_status(writer, &readers);
        dds_get_subscription_matched_status(reader, &writers);
        if (readers.current_count == wanted && writers.current_count == wanted)
            return;
        if (std::chrono::steady_clock::now() > deadline)
            break;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const auto counts = std::to_string(std::min(readers.current_count, writers.current_count)) + " of " +
                        std::to_string(wanted) + " matched within 8 s";
    throw Failure{"reach", plan.leads ? "the followers" : "the leader", last_words(counts), ""};
}

int outcome(dds_return_t code, ipcmark_error *error, const char *operation) {
    if (code >= 0)
        return IPCMARK_DONE;
    if (code == DDS_RETCODE_TIMEOUT || code == DDS_RETCODE_NO_DATA)
        return IPCMARK_WOULD_BLOCK;
    return ipcmark_fail(error, operation, "a message of Cyclone DDS", dds_strretcode(code), nullptr);
}

} // namespace cyclonedds_module
