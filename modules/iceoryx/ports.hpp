// The publisher and the subscriber of an endpoint, through the C++ and the C API: one topic for each direction.
#pragma once

#include <ipcmark/transport.h>

#include <cstdint>
#include <memory>
#include <string>

#include <iceoryx_posh/popo/untyped_publisher.hpp>
#include <iceoryx_posh/popo/untyped_subscriber.hpp>
#include <iceoryx_posh/popo/wait_set.hpp>

// The library's C headers lack `extern "C"`.
extern "C" {
#include <iceoryx_binding_c/chunk.h>
#include <iceoryx_binding_c/publisher.h>
#include <iceoryx_binding_c/subscriber.h>
}

namespace ipcmark {

// The topics of a session, from the side of one endpoint. The leader publishes on "there".
struct Topics {
    std::string instance, out, in;

    Topics(const char *name, bool leads)
        : instance(name), out(leads ? "there" : "back"), in(leads ? "back" : "there") {}
};

// The arguments for making the ports of an endpoint. `number` is the follower's.
struct Making {
    Topics topics;
    uint64_t queue;
    uint32_t number;
};

// The untyped C++ API.
class CppPorts {
  public:
    explicit CppPorts(const Making &making);

    // The mark of this endpoint's messages, and the mark of a message.
    uint64_t origin() const { return static_cast<uint64_t>(publisher.getUid()); }
    static uint64_t origin_of(const void *message) {
        return static_cast<uint64_t>(iox::mepoo::ChunkHeader::fromUserPayload(message)->originId());
    }

    bool are_connected() const {
        return publisher.hasSubscribers() && subscriber.getSubscriptionState() == iox::SubscribeState::SUBSCRIBED;
    }

    void *loan(size_t len) {
        auto loaned = publisher.loan(static_cast<uint32_t>(len));
        return loaned.has_error() ? nullptr : loaned.value();
    }

    void publish(void *room) { publisher.publish(room); }
    void give_back(void *room) { publisher.release(room); }

    const void *take(size_t *len) {
        auto taken = subscriber.take();
        if (taken.has_error())
            return nullptr;
        *len = iox::mepoo::ChunkHeader::fromUserPayload(taken.value())->userPayloadSize();
        return taken.value();
    }

    void release(const void *message) { subscriber.release(message); }

  protected:
    iox::popo::UntypedPublisher publisher;
    iox::popo::UntypedSubscriber subscriber;
};

// The same, with a WaitSet to sleep on.
class WaitSetPorts : public CppPorts {
  public:
    explicit WaitSetPorts(const Making &making);

    void sleep(uint64_t nanoseconds) { wait_set.timedWait(iox::units::Duration::fromNanoseconds(nanoseconds)); }

  private:
    iox::popo::WaitSet<1> wait_set;
};

// The C API. It gives neither the length nor the sender of a message, so both are sent in the user header.
class CPorts {
  public:
    explicit CPorts(const Making &making);
    ~CPorts();
    CPorts(const CPorts &) = delete;
    CPorts &operator=(const CPorts &) = delete;

    uint64_t origin() const { return number; }
    static uint64_t origin_of(const void *message) { return head_of(message).number; }

    bool are_connected() const {
        return iox_pub_has_subscribers(publisher) &&
               iox_sub_get_subscription_state(subscriber) == SubscribeState_SUBSCRIBED;
    }

    void *loan(size_t len) {
        void *room = nullptr;
        if (iox_pub_loan_aligned_chunk_with_user_header(publisher, &room, static_cast<uint32_t>(len), 8, sizeof(Head),
                                                        alignof(Head)) != AllocationResult_SUCCESS)
            return nullptr;
        auto *head = iox_chunk_header_from_user_payload(room);
        *static_cast<Head *>(iox_chunk_header_to_user_header(head)) = {static_cast<uint32_t>(len), number};
        return room;
    }

    void publish(void *room) { iox_pub_publish_chunk(publisher, room); }
    void give_back(void *room) { iox_pub_release_chunk(publisher, room); }

    const void *take(size_t *len) {
        const void *message = nullptr;
        if (iox_sub_take_chunk(subscriber, &message) != ChunkReceiveResult_SUCCESS)
            return nullptr;
        *len = head_of(message).len;
        return message;
    }

    void release(const void *message) { iox_sub_release_chunk(subscriber, message); }

  private:
    struct alignas(8) Head {
        uint32_t len, number;
    };

    static const Head &head_of(const void *message) {
        const auto *head = iox_chunk_header_from_user_payload_const(message);
        return *static_cast<const Head *>(iox_chunk_header_to_user_header_const(head));
    }

    uint32_t number;
    iox_pub_storage_t publisher_storage;
    iox_sub_storage_t subscriber_storage;
    iox_pub_t publisher;
    iox_sub_t subscriber;
};

} // namespace ipcmark
