// lcm-udpm: messages by LCM's publish and subscribe over UDP multicast.
//
// - Mechanism: lcm_publish and a subscription; the session's own multicast group, a channel for each direction.
// - Kernel objects: for each end a UDP socket to send and one to receive, two pipes, and a thread of LCM that reads.
// - Copies a message: three, into the kernel, out of it and out of a callback; one more if it is fragmented.
// - Blocks: in select(2) of a pipe into which LCM's thread writes, for 5 ms at most.
// - Fan-out: one publication reaches all subscribers.
// - Limits: messages are lost without an error if a buffer or a queue is full. The time to live is 0: all ends are on
//   one host, which needs a route for multicast.
#include "shared/c/address.h"
#include "shared/cpp/description.hpp"
#include "shared/cpp/options.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <lcm/lcm.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

// A message is sent in fragments of 64 KiB; the smallest receive buffer that systems grant holds five.
constexpr uint64_t LARGEST = 256u << 10;
constexpr uint32_t MOST_FOLLOWERS = 64;
constexpr int LONGEST_SLEEP_MS = 5;
constexpr uint16_t PORT = 7667; // LCM's default.
// The size that its documentation recommends; the system's usual limit if it cannot be read.
constexpr uint32_t RECOMMENDED_BUFFER = 2u << 20, USUAL_BUFFER = 212992;
// LCM's default, and the messages of each follower for which a leader's queue has room at least.
constexpr uint32_t USUAL_QUEUE = 30, QUEUED_A_FOLLOWER = 2;
constexpr const char *OBJECT = "a group of LCM";

struct End {
    End() = default;
    End(const End &) = delete;
    End &operator=(const End &) = delete;
    ~End() {
        if (lcm)
            lcm_destroy(lcm);
    }

    lcm_t *lcm = nullptr;
    int patience_ms = 0;
    std::string sent_to;
    std::vector<unsigned char> message;
    size_t len = 0;
    bool has_message = false;
};

// Set-up and teardown ----------------------------------------------------------------------------

// The library frees its data when this returns. A message that is too large belongs to another program.
void keep(const lcm_recv_buf_t *received, const char *, void *end) {
    auto &self = *static_cast<End *>(end);
    self.has_message = received->data_size <= self.message.size();
    if (!self.has_message)
        return;
    self.len = received->data_size;
    std::memcpy(self.message.data(), received->data, self.len);
}

// A site-local address derived from the session's name: messages of other sessions with that address have other
// channels.
std::string choose_group(const ipcmark_settings &settings) {
    const auto hash = ipcmark::hash(settings.name);
    return "239.255." + std::to_string(hash >> 8 & 255) + "." + std::to_string(hash & 255);
}

// Otherwise LCM would print its advice, and report nothing else.
int check_route(const std::string &group, ipcmark_error *error) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(PORT);
    inet_pton(AF_INET, group.c_str(), &address.sin_addr);
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool is_reached = connect(socket, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0;
    const int number = errno;
    if (socket >= 0)
        close(socket);
    return is_reached ? IPCMARK_DONE
                      : ipcmark_fail_errno(error, "reach", ("the multicast group " + group).c_str(), number,
                                           "ip route add 224.0.0.0/4 dev lo, or run with --sandbox auto");
}

// LCM prints a warning if the system grants less than it requests.
uint32_t receive_buffer(const ipcmark_settings &settings) {
    uint32_t most = USUAL_BUFFER;
    std::ifstream("/proc/sys/net/core/rmem_max") >> most;
    return std::min(ipcmark::number(settings, "receive-buffer", RECOMMENDED_BUFFER), std::max(most, 1u));
}

int queue_capacity(const ipcmark_settings &settings) {
    const uint32_t senders = settings.role == IPCMARK_LEADER ? settings.subscribers : 1;
    return static_cast<int>(ipcmark::number(settings, "queue", std::max(USUAL_QUEUE, QUEUED_A_FOLLOWER * senders)));
}

int join(End &end, const ipcmark_settings &settings, const std::string &group, ipcmark_session *session,
         ipcmark_error *error) {
    if (const int result = check_route(group, error))
        return result;
    const auto buffer = std::to_string(receive_buffer(settings));
    const auto queue = queue_capacity(settings);
    const auto url = "udpm://" + group + ":" + std::to_string(PORT) + "?ttl=0&recv_buf_size=" + buffer;
    end.lcm = lcm_create(url.c_str());
    if (!end.lcm)
        return ipcmark_fail(error, "join", OBJECT, "the library printed why", nullptr);
    const bool leads = settings.role == IPCMARK_LEADER;
    const std::string there = std::string(settings.name) + "-there", back = std::string(settings.name) + "-back";
    end.sent_to = leads ? there : back;
    // lcm_subscribe sends a message to itself, and waits until it arrives.
    auto *const subscription = lcm_subscribe(end.lcm, (leads ? back : there).c_str(), keep, &end);
    if (!subscription || lcm_subscription_set_queue_capacity(subscription, queue) != 0)
        return ipcmark_fail(error, "subscribe to", OBJECT, "what the library sent to itself did not arrive", nullptr);
    session->note(session, "receive buffer", (buffer + " bytes").c_str());
    session->note(session, "queue", (std::to_string(queue) + " messages").c_str());
    return IPCMARK_DONE;
}

int open_end(const ipcmark_transport *, const ipcmark_settings *settings, ipcmark_session *session, void **opened,
             ipcmark_error *error) {
    std::unique_ptr<End> end(new (std::nothrow) End);
    if (!end)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", nullptr);
    end->patience_ms = settings->wait == IPCMARK_SPIN ? 0 : LONGEST_SLEEP_MS;
    end->message.assign(settings->payload, 1);
    int result = join(*end, *settings, choose_group(*settings), session, error);
    if (result == IPCMARK_DONE)
        result = session->meet(session, error);
    if (result == IPCMARK_DONE)
        *opened = end.release();
    return result;
}

void close_end(void *end) {
    delete static_cast<End *>(end);
}

// The hot path -----------------------------------------------------------------------------------

int publish(void *end, void *message, size_t len, ipcmark_error *error) {
    const auto &self = *static_cast<End *>(end);
    if (lcm_publish(self.lcm, self.sent_to.c_str(), message, static_cast<unsigned>(len)) == 0)
        return IPCMARK_DONE;
    return ipcmark_fail_errno(error, "send to", OBJECT, errno, nullptr);
}

int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    self.has_message = false;
    if (lcm_handle_timeout(self.lcm, self.patience_ms) < 0 && errno != EINTR)
        return ipcmark_fail_errno(error, "receive from", OBJECT, errno, nullptr);
    if (!self.has_message)
        return IPCMARK_WOULD_BLOCK;
    *message = self.message.data();
    *len = self.len;
    return IPCMARK_DONE;
}

// The definition ---------------------------------------------------------------------------------

const ipcmark_option_spec OPTIONS[] = {
    {"receive-buffer", "64k..64M", "2 MiB, or net.core.rmem_max where that is less",
     "bytes come in that the socket holds (recv_buf_size)"},
    {"queue", "1..64k", "30; for a leader at least two for each subscriber",
     "messages come in that a subscription holds; more are dropped"},
};

ipcmark_transport describe() {
    // The carrier is the interface of the route, or for a real interface the kernel's own loop.
    auto transport = ipcmark::describe_transport(
        "lcm-udpm", "publish and subscribe by LCM over UDP multicast, losses counted; three copies, a thread each side",
        IPCMARK_SPIN | IPCMARK_BLOCK, IPCMARK_UNRELIABLE);
    transport.max_payload = LARGEST;
    transport.patterns = IPCMARK_LATENCY | IPCMARK_FAN_OUT;
    transport.max_subscribers = MOST_FOLLOWERS;
    ipcmark::set_options(transport, OPTIONS);
    transport.open = open_end;
    transport.publish = publish;
    transport.take = take;
    transport.close = close_end;
    return transport;
}

const ipcmark_transport udpm = describe();
const ipcmark_transport *const TRANSPORTS[] = {&udpm};

// The library does not report its version: this is the version of the header.
const char *library_version() {
    static const std::string version = std::to_string(LCM_MAJOR_VERSION) + "." + std::to_string(LCM_MINOR_VERSION) +
                                       "." + std::to_string(LCM_MICRO_VERSION);
    return version.c_str();
}

} // namespace

const struct ipcmark_module *ipcmark_module(void) {
    static const auto module = ipcmark::describe_module("lcm", library_version, TRANSPORTS);
    return &module;
}
