// boost-mq: message_queue of Boost.Interprocess, one for each direction.
//
// - Mechanism: a heap of preallocated messages in shared memory behind an interprocess mutex.
// - Kernel objects: two POSIX shared memory objects, unlinked once both ends have opened them; futexes behind the mutex
//   and the two conditions.
// - Copies a message: two, into and out of shared memory.
// - Blocks: in send and receive, on a condition.
// - Limits: a queue has a fixed capacity, with all messages in memory from the beginning: 16 MiB of them, at least 4
//   and at most 100.
#include "boost.hpp"

#include "shared/c/space.h"
#include "shared/cpp/description.hpp"
#include "shared/cpp/options.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include <boost/interprocess/ipc/message_queue.hpp>

namespace {

using boost::interprocess::message_queue;

const ipcmark_option_spec OPTIONS[] = {
    {"depth", "1..4096", "what 16 MiB hold, from 4 to 100", "messages that a queue holds"},
};

struct End {
    std::unique_ptr<message_queue> out, back;
    std::vector<unsigned char> incoming;
    bool spins;
};

// Set-up and teardown ----------------------------------------------------------------------------

size_t capacity(const ipcmark_settings &settings) {
    return ipcmark::number(settings, "depth", std::clamp<size_t>((16u << 20) / settings.payload, 4, 100));
}

std::unique_ptr<message_queue> create(const std::string &name, const ipcmark_settings &settings) {
    using boost::interprocess::create_only;
    return std::make_unique<message_queue>(create_only, name.c_str(), capacity(settings), settings.payload);
}

std::unique_ptr<message_queue> find(const std::string &name) {
    return std::make_unique<message_queue>(boost::interprocess::open_only, name.c_str());
}

// The leader makes both queues and the follower opens them.
int open_queues(End &end, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    const bool leads = settings.role == IPCMARK_LEADER;
    const auto to = object_name(settings.name, 0), fro = object_name(settings.name, 1);
    if (leads) {
        end.out = create(to, settings);
        end.back = create(fro, settings);
    }
    if (const int result = session->meet(session, error))
        return result;
    if (!leads) {
        end.out = find(fro);
        end.back = find(to);
    }
    if (const int result = session->meet(session, error))
        return result;
    session->note(session, "queue", (std::to_string(end.out->get_max_msg()) + " messages").c_str());
    return IPCMARK_DONE;
}

int open_end(const ipcmark_transport *, const ipcmark_settings *settings, ipcmark_session *session, void **opened,
             ipcmark_error *error) {
    if (const int result = ipcmark_check_space(2 * capacity(*settings) * settings->payload, error))
        return result;
    return guarded(error, "open", "a message queue of Boost", [&] {
        auto end = std::make_unique<End>();
        end->spins = settings->wait == IPCMARK_SPIN;
        end->incoming.assign(settings->payload, 0);
        const int result = guarded(error, "open", "a message queue of Boost",
                                   [&] { return open_queues(*end, *settings, session, error); });
        if (settings->role == IPCMARK_LEADER)
            remove_names(settings->name);
        if (result == IPCMARK_DONE)
            *opened = end.release();
        return result;
    });
}

void close_end(void *end) {
    delete static_cast<End *>(end);
}

// The hot path -----------------------------------------------------------------------------------

int publish(void *end, void *message, size_t len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    return guarded(error, "send", "a message of Boost", [&]() -> int {
        if (self.spins)
            return self.out->try_send(message, len, 0) ? IPCMARK_DONE : IPCMARK_WOULD_BLOCK;
        self.out->send(message, len, 0);
        return IPCMARK_DONE;
    });
}

int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    return guarded(error, "receive", "a message of Boost", [&]() -> int {
        auto &buffer = self.incoming;
        unsigned int priority;
        message_queue::size_type received;
        if (!self.spins)
            self.back->receive(buffer.data(), buffer.size(), received, priority);
        else if (!self.back->try_receive(buffer.data(), buffer.size(), received, priority))
            return IPCMARK_WOULD_BLOCK;
        *message = buffer.data();
        *len = received;
        return IPCMARK_DONE;
    });
}

// The definition ---------------------------------------------------------------------------------

ipcmark_transport describe() {
    auto transport = ipcmark::describe_transport(
        "boost-mq", "message_queue of Boost.Interprocess, two copies, a mutex and condition variables",
        IPCMARK_SPIN | IPCMARK_BLOCK, IPCMARK_IN_MEMORY);
    transport.open = open_end;
    transport.publish = publish;
    transport.take = take;
    transport.close = close_end;
    ipcmark::set_options(transport, OPTIONS);
    return transport;
}

} // namespace

const ipcmark_transport boost_mq = describe();
