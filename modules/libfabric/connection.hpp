// An endpoint of libfabric's provider shm, and its connection to the other end.
#pragma once

#include "shared/cpp/flow_control.hpp"
#include "shared/cpp/within.hpp"

#include <ipcmark/transport.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

namespace libfabric {

constexpr uint64_t MESSAGE = 1, GREETING = 2; // The tags.

// Fills in the error with libfabric's message for a negative status, and returns FAILED.
int fail(ipcmark_error *error, const char *operation, const char *object, ssize_t status);

class Connection {
  public:
    Connection() = default;
    Connection(const Connection &) = delete;
    Connection &operator=(const Connection &) = delete;
    ~Connection();

    // Connects this end with the other one.
    int open(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error);

    // Sends a message: DONE at once if it is small, else `is_sending` until it is sent; WOULD_BLOCK if there is no
    // room.
    int send(const void *message, size_t len, uint64_t tag, ipcmark_error *error);

    // Posts a receive, which is over once `is_receiving` is false again.
    int receive(void *message, size_t room, uint64_t tag, ipcmark_error *error);

    // Lets the library work, and notes what is over.
    int progress(ipcmark_error *error);

    ipcmark::FlowControl flow;
    bool is_sending = false, is_receiving = false;
    size_t received = 0; // The length of the last received message.

  private:
    int make_endpoint(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error);
    int open_parts(ipcmark_error *error);
    int bind_parts(ipcmark_error *error);
    int exchange(ipcmark_session *session, ipcmark_error *error);
    int note_cma(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error);
    int greet(bool sends, const ipcmark::Deadline &deadline, ipcmark_error *error);
    int explain(ipcmark_error *error);

    fi_info *info = nullptr;
    fid_fabric *fabric = nullptr;
    fid_domain *domain = nullptr;
    fid_av *addresses = nullptr;
    fid_cq *completions = nullptr;
    fid_ep *endpoint = nullptr;
    fi_addr_t peer = FI_ADDR_UNSPEC;
    char greeting = 0;
};

} // namespace libfabric
