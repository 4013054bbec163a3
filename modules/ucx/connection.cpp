// Set-up and teardown. The endpoints exchange the addresses of their workers, connect, and send a message in each
// direction before anything is measured: UCX sets up its lanes with the first messages.
#include "connection.hpp"

#include "shared/cpp/environment.hpp"
#include "shared/cpp/options.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include <poll.h>
#include <unistd.h>

#include <ucs/debug/log_def.h>

namespace ucx {

namespace {

constexpr size_t MOST_ADDRESS_BYTES = 4096;
constexpr int TRIES = 1000;
constexpr int ARM_TRIES = 3; // An event that is noticed late makes one fail.
constexpr uint64_t MOMENT_NS = 100'000;

// The last message that UCX would have printed: often the cause of a status.
char last_words[256];

ucs_log_func_rc_t keep_words(const char *, unsigned, const char *, ucs_log_level_t, const ucs_log_component_config_t *,
                             const char *message, va_list arguments) {
    vsnprintf(last_words, sizeof last_words, message, arguments);
    return UCS_LOG_FUNC_RC_STOP;
}

// The library prints from its first call on.
void prepare_library() {
    static bool is_prepared = false;
    if (is_prepared)
        return;
    ucs_log_push_handler(keep_words);
    ipcmark::forget_variables_of("UCX_");
    is_prepared = true;
}

// Sets the settings that differ from the library's defaults.
ucs_status_t configure(ucp_config_t *config, const std::string &layers, const Way &way,
                       const ipcmark_settings &settings) {
    const auto threshold = ipcmark::value(settings, "rndv-thresh");
    ucs_status_t status = ucp_config_modify(config, "TLS", layers.c_str());
    if (status == UCS_OK && way.devices)
        status = ucp_config_modify(config, "NET_DEVICES", way.devices);
    if (status == UCS_OK && !threshold.empty())
        status = ucp_config_modify(config, "RNDV_THRESH", threshold.c_str());
    return status;
}

// Under `spin` no wake-up is requested, because a sender would pay for it.
ucs_status_t make_context(ucp_context_h *context, const std::string &layers, const Way &way,
                          const ipcmark_settings &settings) {
    ucp_config_t *config = nullptr;
    ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
    if (status != UCS_OK)
        return status;
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features =
        (way.is_active ? UCP_FEATURE_AM : UCP_FEATURE_TAG) | (settings.wait == IPCMARK_SPIN ? 0 : UCP_FEATURE_WAKEUP);
    status = configure(config, layers, way, settings);
    if (status == UCS_OK)
        status = ucp_init(&params, config, context);
    ucp_config_release(config);
    return status;
}

std::string layers(const Way &way, const ipcmark_settings &settings) {
    if (way.layers)
        return way.layers;
    const auto memory = ipcmark::value(settings, "memory");
    return (memory.empty() ? "posix" : memory) + ",self";
}

// UCX's description of an endpoint.
std::string description(ucp_ep_h endpoint) {
    char *text = nullptr;
    size_t len = 0;
    FILE *const stream = open_memstream(&text, &len);
    if (!stream)
        return "";
    ucp_ep_print_info(endpoint, stream);
    (void)std::fclose(stream);
    std::string result(text, len);
    std::free(text);
    return result;
}

// The rest of the first line that contains the word, from the word on, without repeated blanks; or "".
std::string rest_of_line(const std::string &text, const std::string &word) {
    const auto at = text.find(word);
    if (at == std::string::npos)
        return "";
    std::string rest = text.substr(at, text.find('\n', at) - at);
    rest.erase(std::unique(rest.begin(), rest.end(), [](char a, char b) { return a == ' ' && b == ' '; }), rest.end());
    return rest;
}

// The transports of the endpoint's lanes: "posix/memory cma/memory".
std::string lanes(const std::string &text) {
    std::string result;
    for (auto at = text.find("lane["); at != std::string::npos; at = text.find("lane[", at + 1)) {
        auto from = text.find(':', at + 5);
        from = from == std::string::npos ? from : text.find_first_not_of("0123456789: ", from);
        if (from == std::string::npos)
            break;
        result += (result.empty() ? "" : " ") + text.substr(from, text.find_first_of(" .\n", from) - from);
    }
    return result;
}

} // namespace

int fail(ipcmark_error *error, const char *operation, const char *object, ucs_status_t status) {
    std::string cause = ucs_status_string(status);
    if (last_words[0])
        cause += std::string(" (") + last_words + ")";
    return ipcmark_fail(error, operation, object, cause.c_str(), nullptr);
}

// Set-up -----------------------------------------------------------------------------------------

int Connection::make_worker(const std::string &layers, const Way &way, const ipcmark_settings &settings,
                            ipcmark_error *error) {
    ucs_status_t status = make_context(&context, layers, way, settings);
    if (status != UCS_OK)
        return fail(error, "make", "a context of UCX", status);
    ucp_worker_params_t params{};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = UCS_THREAD_MODE_SINGLE;
    status = ucp_worker_create(context, &params, &worker);
    if (status == UCS_OK && settings.wait != IPCMARK_SPIN)
        status = ucp_worker_get_efd(worker, &events);
    return status == UCS_OK ? IPCMARK_DONE : fail(error, "make", "a worker of UCX", status);
}

int Connection::exchange(const Way &way, ipcmark_session *session, ipcmark_error *error) {
    ucp_address_t *own = nullptr;
    size_t len = 0, none = 0;
    if (const auto status = ucp_worker_get_address(worker, &own, &len); status != UCS_OK)
        return fail(error, "ask for the address of", "a worker of UCX", status);
    int result = session->send(session, 0, own, len, nullptr, 0, error);
    ucp_worker_release_address(worker, own);
    char theirs[MOST_ADDRESS_BYTES];
    len = sizeof theirs;
    if (result == IPCMARK_DONE)
        result = session->receive(session, 0, theirs, &len, nullptr, &none, error);
    if (result != IPCMARK_DONE)
        return result;
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params.address = reinterpret_cast<const ucp_address_t *>(theirs);
    params.err_mode = way.notices_failure ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE;
    const auto status = ucp_ep_create(worker, &params, &endpoint);
    return status == UCS_OK ? IPCMARK_DONE : fail(error, "connect", "an endpoint of UCX", status);
}

// Registers a function that the library calls for each active message.
int Connection::set_receiver(unsigned kind, ucp_am_recv_callback_t callback, void *argument,
                             ipcmark_error *error) const {
    ucp_am_handler_param_t params{};
    params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                        UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    params.id = kind;
    params.flags = UCP_AM_FLAG_WHOLE_MSG | UCP_AM_FLAG_PERSISTENT_DATA;
    params.cb = callback;
    params.arg = argument;
    const auto status = ucp_worker_set_am_recv_handler(worker, &params);
    return status == UCS_OK ? IPCMARK_DONE : fail(error, "receive by", "active messages of UCX", status);
}

void Connection::receive_by(ucp_am_recv_callback_t callback, void *argument) {
    receiver = callback;
    receivers_argument = argument;
}

void Connection::forget_receiver() {
    ipcmark_error ignored{};
    if (worker && receiver)
        set_receiver(MESSAGE, nullptr, nullptr, &ignored);
}

int Connection::set_receivers(ipcmark_error *error) {
    const auto note_greeting = [](void *is_greeted, const void *, size_t, void *, size_t, const ucp_am_recv_param_t *) {
        *static_cast<bool *>(is_greeted) = true;
        return UCS_OK;
    };
    const int result = set_receiver(GREETING, note_greeting, &is_greeted, error);
    return result == IPCMARK_DONE ? set_receiver(MESSAGE, receiver, receivers_argument, error) : result;
}

// Makes progress while the check returns "in progress".
template <typename Check>
ucs_status_t Connection::await_status(const ipcmark::Deadline &deadline, Check check) const {
    ucs_status_t status = UCS_INPROGRESS;
    for (uint64_t n = 1; (status = check()) == UCS_INPROGRESS; n++) {
        progress();
        if (n % 1024 != 0)
            continue;
        if (flow.is_peer_closed())
            return UCS_ERR_CONNECTION_RESET;
        if (deadline.has_passed())
            return UCS_ERR_TIMED_OUT;
    }
    return status;
}

int Connection::await_request(ucs_status_ptr_t request, const ipcmark::Deadline &deadline, ipcmark_error *error) const {
    ucs_status_t status = UCS_PTR_STATUS(request);
    if (UCS_PTR_IS_PTR(request)) {
        status = await_status(deadline, [&] { return ucp_request_check_status(request); });
        if (status != UCS_OK)
            ucp_request_cancel(worker, request);
        ucp_request_free(request);
    }
    return status == UCS_OK ? IPCMARK_DONE : fail(error, "exchange", "a first message of UCX", status);
}

int Connection::send_greeting(const Way &way, const ipcmark::Deadline &deadline, ipcmark_error *error) const {
    const ucp_request_param_t plain{};
    const char out = 'h';
    return await_request(way.is_active ? ucp_am_send_nbx(endpoint, GREETING, nullptr, 0, &out, 1, &plain)
                                       : ucp_tag_send_nbx(endpoint, &out, 1, GREETING, &plain),
                         deadline, error);
}

int Connection::receive_greeting(const Way &way, const ipcmark::Deadline &deadline, ipcmark_error *error) const {
    const ucp_request_param_t plain{};
    char in = 0;
    if (!way.is_active)
        return await_request(ucp_tag_recv_nbx(worker, &in, 1, GREETING, WHOLE_TAG, &plain), deadline, error);
    const auto status = await_status(deadline, [&] { return is_greeted ? UCS_OK : UCS_INPROGRESS; });
    return status == UCS_OK ? IPCMARK_DONE : fail(error, "exchange", "a first message of UCX", status);
}

// UCX silently leaves out layers that it cannot use.
int Connection::check_layers(const Way &way, ipcmark_session *session, ipcmark_error *error) const {
    const auto text = description(endpoint);
    const auto found = lanes(text);
    session->note(session, "lanes", found.c_str());
    if (!way.is_active) // UCX 1.13 does not report those of active messages.
        session->note(session, "protocols", rest_of_line(text, "tag_send").c_str());
    if (!way.required || found.find(way.required) != std::string::npos)
        return IPCMARK_DONE;
    const auto cause = "UCX has taken " + found + " only";
    return ipcmark_fail(error, "use", way.required, cause.c_str(), way.remedy);
}

int Connection::open(const Way &way, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    const ipcmark::Deadline deadline(settings);
    const bool leads = settings.role == IPCMARK_LEADER;
    const auto parts = layers(way, settings);
    prepare_library();
    last_words[0] = '\0';
    session->note(session, "UCX_TLS", parts.c_str());
    int result = make_worker(parts, way, settings, error);
    if (result == IPCMARK_DONE && way.is_active)
        result = set_receivers(error);
    if (result == IPCMARK_DONE)
        result = flow.open_bounded(settings, session, error);
    if (result == IPCMARK_DONE)
        result = exchange(way, session, error);
    if (result == IPCMARK_DONE)
        result = session->meet(session, error);
    for (const bool sends : {leads, !leads})
        if (result == IPCMARK_DONE)
            result = sends ? send_greeting(way, deadline, error) : receive_greeting(way, deadline, error);
    return result == IPCMARK_DONE ? check_layers(way, session, error) : result;
}

// Sleep and teardown -----------------------------------------------------------------------------

int Connection::sleep(uint64_t timeout_ns, ipcmark_error *error) const {
    const auto status = ucp_worker_arm(worker);
    if (status == UCS_ERR_BUSY) // Something arrived since the last check.
        return IPCMARK_DONE;
    return status == UCS_OK ? poll(events, timeout_ns, error) : fail(error, "wait for", "a worker of UCX", status);
}

// UCX arms no worker with a message for which the receiver's queue has no room, because no event tells of it.
int Connection::sleep_while_sending(uint64_t timeout_ns, ipcmark_error *error) const {
    for (int n = 0; n < ARM_TRIES; n++) {
        const auto status = ucp_worker_arm(worker);
        if (status == UCS_OK)
            return poll(events, timeout_ns, error);
        if (status != UCS_ERR_BUSY)
            return fail(error, "wait for", "a worker of UCX", status);
        if (ucp_worker_progress(worker) > 0)
            return IPCMARK_DONE;
    }
    return poll(-1, MOMENT_NS, error);
}

int Connection::poll(int source, uint64_t timeout_ns, ipcmark_error *error) const {
    pollfd sources[] = {{source, POLLIN, 0}, {flow.hang_up(), 0, 0}};
    const timespec limit = {static_cast<time_t>(timeout_ns / 1000000000), static_cast<long>(timeout_ns % 1000000000)};
    if (ppoll(sources, 2, &limit, nullptr) == 0)
        return IPCMARK_WOULD_BLOCK;
    if (sources[1].revents != 0 && sources[0].revents == 0) {
        ipcmark_fail(error, "wait for", "a message of UCX", "the other end is closed", nullptr);
        return IPCMARK_PEER_GONE;
    }
    return IPCMARK_DONE;
}

bool Connection::end_request(ucs_status_ptr_t request) const {
    if (!UCS_PTR_IS_PTR(request))
        return true;
    for (int n = 0; n < TRIES && ucp_request_check_status(request) == UCS_INPROGRESS; n++)
        progress();
    const bool is_over = ucp_request_check_status(request) != UCS_INPROGRESS;
    ucp_request_free(request);
    return is_over;
}

Connection::~Connection() {
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = UCP_EP_CLOSE_FLAG_FORCE;
    if (endpoint)
        end_request(ucp_ep_close_nbx(endpoint, &params));
    if (worker)
        ucp_worker_destroy(worker);
    if (context)
        ucp_cleanup(context);
}

} // namespace ucx
