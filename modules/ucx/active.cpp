#include "active.hpp"

#include <memory>
#include <new>

namespace ucx {

namespace {

// FlowControl's limit of unreleased messages.
constexpr size_t MOST_ARRIVED = 1024;

// A message that the library has passed to its callback: the bytes themselves, or a descriptor for fetching them.
struct Arrival {
    void *data;
    size_t len;
    bool is_announced;
};

struct ActiveEnd : End {
    ActiveEnd() = default;
    ActiveEnd(const ActiveEnd &) = delete;
    ActiveEnd &operator=(const ActiveEnd &) = delete;
    ~ActiveEnd();

    bool is_empty() const { return count == 0; }
    Arrival pop();
    void free_taken();

    Arrival arrived[MOST_ARRIVED]; // In order, because one call of the library can bring several.
    size_t first = 0, count = 0;
    bool has_lost = false; // More arrived than the limit allows.
    void *taken = nullptr; // The library's memory, until the next message is awaited.
    size_t receiving_len = 0;
};

Arrival ActiveEnd::pop() {
    const Arrival arrival = arrived[first];
    first = (first + 1) % MOST_ARRIVED;
    count--;
    return arrival;
}

void ActiveEnd::free_taken() {
    if (taken)
        ucp_am_data_release(connection.worker, taken);
    taken = nullptr;
}

// The library is called again after this, and so must not find the callback.
ActiveEnd::~ActiveEnd() {
    connection.forget_receiver();
    free_taken();
    while (!is_empty())
        ucp_am_data_release(connection.worker, pop().data);
}

// Called within ucp_worker_progress. IN_PROGRESS: the data is kept.
ucs_status_t keep(void *argument, const void *, size_t, void *data, size_t len, const ucp_am_recv_param_t *param) {
    auto &self = *static_cast<ActiveEnd *>(argument);
    self.has_lost |= self.count == MOST_ARRIVED;
    if (self.has_lost)
        return UCS_OK;
    const bool is_announced = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    self.arrived[(self.first + self.count++) % MOST_ARRIVED] = {data, len, is_announced};
    return UCS_INPROGRESS;
}

int deliver(ActiveEnd &self, const void *bytes, size_t length, const void **message, size_t *len) {
    self.receiving = nullptr;
    *message = bytes;
    *len = length;
    return IPCMARK_DONE;
}

// Fetches an announced message: it lies in the sender's memory until then.
int begin_fetching(ActiveEnd &self, const Arrival &arrival, ipcmark_error *error) {
    const ucp_request_param_t plain{};
    const auto request = ucp_am_recv_data_nbx(self.connection.worker, arrival.data, self.message, arrival.len, &plain);
    if (UCS_PTR_IS_ERR(request))
        return fail(error, "receive", "a message of UCX", UCS_PTR_STATUS(request));
    self.receiving = request;
    self.receiving_len = arrival.len;
    return IPCMARK_DONE;
}

int go_on_fetching(ActiveEnd &self, const void **message, size_t *len, ipcmark_error *error) {
    self.connection.progress();
    const auto status = ucp_request_check_status(self.receiving);
    if (status == UCS_INPROGRESS)
        return IPCMARK_WOULD_BLOCK;
    ucp_request_free(self.receiving);
    self.receiving = nullptr;
    return status == UCS_OK ? deliver(self, self.message, self.receiving_len, message, len)
                            : fail(error, "receive", "a message of UCX", status);
}

int take_next(ActiveEnd &self, const void **message, size_t *len, ipcmark_error *error) {
    const Arrival arrival = self.pop();
    if (!arrival.is_announced) {
        self.taken = arrival.data;
        return deliver(self, arrival.data, arrival.len, message, len);
    }
    if (arrival.len > self.room) {
        ucp_am_data_release(self.connection.worker, arrival.data);
        return ipcmark_fail(error, "receive", "a message of UCX", "it is longer than any that is sent", nullptr);
    }
    if (const int result = begin_fetching(self, arrival, error))
        return result;
    return self.receiving ? go_on_fetching(self, message, len, error)
                          : deliver(self, self.message, arrival.len, message, len);
}

} // namespace

int open_active(const ipcmark_transport *transport, const ipcmark_settings *settings, ipcmark_session *session,
                void **opened, ipcmark_error *error) {
    std::unique_ptr<ActiveEnd> end(new (std::nothrow) ActiveEnd);
    if (!end)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", nullptr);
    end->connection.receive_by(keep, end.get());
    const int result = end->open(*static_cast<const Way *>(transport->context), *settings, session, error);
    if (result == IPCMARK_DONE)
        *opened = end.release();
    return result;
}

void close_active(void *end) {
    delete static_cast<ActiveEnd *>(end);
}

int publish_active(void *end, void *message, size_t len, ipcmark_error *error) {
    auto &self = *static_cast<ActiveEnd *>(end);
    const auto begin = [&] {
        const ucp_request_param_t plain{};
        return ucp_am_send_nbx(self.connection.endpoint, MESSAGE, nullptr, 0, message, len, &plain);
    };
    return publish_by(begin, self, error);
}

int take_active(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<ActiveEnd *>(end);
    self.free_taken();
    if (self.receiving)
        return go_on_fetching(self, message, len, error);
    if (self.is_empty())
        self.connection.progress();
    if (!self.is_empty())
        return take_next(self, message, len, error);
    return self.has_lost
               ? ipcmark_fail(error, "receive", "a message of UCX", "more came than may be under way", nullptr)
               : IPCMARK_WOULD_BLOCK;
}

// The next take frees its memory, while the peer works.
int release_active(void *end, const void *, ipcmark_error *) {
    static_cast<ActiveEnd *>(end)->connection.flow.count_released();
    return IPCMARK_DONE;
}

// A message that arrived during a send wakes nobody.
int wait_active(void *end, uint64_t timeout_ns, ipcmark_error *error) {
    auto &self = *static_cast<ActiveEnd *>(end);
    return self.is_empty() ? self.connection.sleep(timeout_ns, error) : IPCMARK_DONE;
}

} // namespace ucx
