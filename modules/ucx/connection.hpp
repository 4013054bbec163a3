// An endpoint's part of UCX: its context and worker, and its connection to the other end's worker.
#pragma once

#include "shared/cpp/flow_control.hpp"
#include "shared/cpp/within.hpp"

#include <ipcmark/transport.h>

#include <string>

#include <ucp/api/ucp.h>

namespace ucx {

constexpr ucp_tag_t TAG = 1, WHOLE_TAG = ~ucp_tag_t{0};

// The kinds of active messages.
constexpr unsigned MESSAGE = 1, GREETING = 2;

// The differences between the transports: the carriers of their messages.
struct Way {
    const char *layers;   // UCX_TLS: the parts of UCX that may be used; NULL: what `memory` says
    const char *devices;  // UCX_NET_DEVICES; NULL: the library's default
    const char *required; // A required lane, or NULL
    const char *remedy;   // The remedy if that lane is missing, or NULL
    bool notices_failure; // True if the library detects that the other process is gone
    bool is_active;       // Active messages instead of tagged ones
};

// Fills in the error with UCX's message for the status, and returns FAILED.
int fail(ipcmark_error *error, const char *operation, const char *object, ucs_status_t status);

class Connection {
  public:
    Connection() = default;
    Connection(const Connection &) = delete;
    Connection &operator=(const Connection &) = delete;
    ~Connection();

    // Active messages are passed to this callback, once the endpoint is open.
    void receive_by(ucp_am_recv_callback_t callback, void *argument);
    void forget_receiver();

    // Connects this endpoint with the other one.
    int open(const Way &way, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error);

    void progress() const { ucp_worker_progress(worker); }

    // Sleeps until the worker has something to do, or the other end is gone; DONE if not sure, WOULD_BLOCK after the
    // timeout.
    int sleep(uint64_t timeout_ns, ipcmark_error *error) const;

    // The same while a message is being sent: if UCX has no event for that, sleeps for a moment.
    int sleep_while_sending(uint64_t timeout_ns, ipcmark_error *error) const;

    // Makes progress until the request is over, with a time limit; frees the request if it is over.
    bool end_request(ucs_status_ptr_t request) const;

    ipcmark::FlowControl flow;
    ucp_worker_h worker = nullptr;
    ucp_ep_h endpoint = nullptr;

  private:
    int make_worker(const std::string &layers, const Way &way, const ipcmark_settings &settings, ipcmark_error *error);
    int exchange(const Way &way, ipcmark_session *session, ipcmark_error *error);
    int set_receiver(unsigned kind, ucp_am_recv_callback_t callback, void *argument, ipcmark_error *error) const;
    int set_receivers(ipcmark_error *error);
    int send_greeting(const Way &way, const ipcmark::Deadline &deadline, ipcmark_error *error) const;
    int receive_greeting(const Way &way, const ipcmark::Deadline &deadline, ipcmark_error *error) const;
    template <typename Check> ucs_status_t await_status(const ipcmark::Deadline &deadline, Check check) const;
    int await_request(ucs_status_ptr_t request, const ipcmark::Deadline &deadline, ipcmark_error *error) const;
    int poll(int source, uint64_t timeout_ns, ipcmark_error *error) const;
    int check_layers(const Way &way, ipcmark_session *session, ipcmark_error *error) const;

    ucp_context_h context = nullptr;
    ucp_am_recv_callback_t receiver = nullptr;
    void *receivers_argument = nullptr;
    bool is_greeted = false; // By an active message.
    int events = -1;         // Readable once an armed worker has something to do; the worker's. -1 if it polls.
};

} // namespace ucx
