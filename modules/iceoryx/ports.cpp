#include "ports.hpp"

namespace ipcmark {

namespace {

constexpr const char *SERVICE = "ipcmark";

iox::capro::ServiceDescription description(const std::string &instance, const std::string &event) {
    using iox::capro::IdString_t;
    using iox::cxx::TruncateToCapacity;
    return {IdString_t(TruncateToCapacity, SERVICE), IdString_t(TruncateToCapacity, instance.c_str()),
            IdString_t(TruncateToCapacity, event.c_str())};
}

iox::popo::PublisherOptions publisher_options() {
    iox::popo::PublisherOptions options;
    options.historyCapacity = 0;
    options.subscriberTooSlowPolicy = iox::popo::ConsumerTooSlowPolicy::WAIT_FOR_CONSUMER;
    return options;
}

iox::popo::SubscriberOptions subscriber_options(uint64_t queue) {
    iox::popo::SubscriberOptions options;
    options.queueCapacity = queue;
    options.historyRequest = 0;
    options.queueFullPolicy = iox::popo::QueueFullPolicy::BLOCK_PRODUCER;
    return options;
}

} // namespace

CppPorts::CppPorts(const Making &making)
    : publisher(description(making.topics.instance, making.topics.out), publisher_options()),
      subscriber(description(making.topics.instance, making.topics.in), subscriber_options(making.queue)) {}

WaitSetPorts::WaitSetPorts(const Making &making) : CppPorts(making) {
    wait_set.attachState(subscriber, iox::popo::SubscriberState::HAS_DATA).or_else([](auto) {});
}

CPorts::CPorts(const Making &making) : number(making.number) {
    const Topics &topics = making.topics;
    iox_pub_options_t publishing;
    iox_pub_options_init(&publishing);
    publishing.historyCapacity = 0;
    publishing.subscriberTooSlowPolicy = ConsumerTooSlowPolicy_WAIT_FOR_CONSUMER;
    publisher = iox_pub_init(&publisher_storage, SERVICE, topics.instance.c_str(), topics.out.c_str(), &publishing);
    iox_sub_options_t subscribing;
    iox_sub_options_init(&subscribing);
    subscribing.queueCapacity = making.queue;
    subscribing.historyRequest = 0;
    subscribing.queueFullPolicy = QueueFullPolicy_BLOCK_PRODUCER;
    subscriber = iox_sub_init(&subscriber_storage, SERVICE, topics.instance.c_str(), topics.in.c_str(), &subscribing);
}

CPorts::~CPorts() {
    iox_sub_deinit(subscriber);
    iox_pub_deinit(publisher);
}

} // namespace ipcmark
