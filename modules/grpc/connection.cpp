// Set-up and teardown. The follower listens on a Unix domain socket in the session's directory; the leader connects.
#include "connection.hpp"

#include "shared/cpp/environment.hpp"

#include <chrono>
#include <climits>
#include <mutex>

#include <grpc/support/log.h>
#include <grpc/support/time.h>

namespace grpc_module {

namespace {

using Clock = std::chrono::system_clock;

constexpr std::chrono::seconds CLOSED_WITHIN{2};
constexpr gpr_timespec LONGEST_SLEEP = {0, 100000000, GPR_TIMESPAN};
constexpr uint64_t MESSAGE_HEAD = 64; // An upper bound of what protobuf adds to a payload.
constexpr size_t MOST_PATH_BYTES = 200;

// The last message that gRPC would have printed: often the cause of a failure. Threads of the library also log.
std::mutex words_mutex;
std::string last_words;

void keep_words(gpr_log_func_args *entry) {
    const std::lock_guard<std::mutex> lock(words_mutex);
    last_words = entry->message;
}

std::string words() {
    const std::lock_guard<std::mutex> lock(words_mutex);
    return last_words;
}

void prepare_library() {
    static bool is_prepared = false;
    if (is_prepared)
        return;
    ipcmark::forget_variables_of("GRPC_");
    gpr_set_log_function(keep_words);
    is_prepared = true;
}

int fail(ipcmark_error *error, const char *operation, const std::string &object, const std::string &otherwise) {
    const auto said = words();
    return ipcmark_fail(error, operation, object.c_str(), (said.empty() ? otherwise : said).c_str(), nullptr);
}

// Each opening has its own name: the library removes a name when it has closed, possibly after the next one opened.
std::string socket_path(const ipcmark_settings &settings) {
    static unsigned opened = 0;
    return std::string(settings.directory) + "/" + settings.name + "-" + std::to_string(opened++) + ".grpc";
}

int most_bytes(const ipcmark_settings &settings) {
    return static_cast<int>(settings.payload + MESSAGE_HEAD);
}

// The settings that differ from the library's defaults, and the defaults that affect a figure.
grpc::ChannelArguments channel_arguments(const ipcmark_settings &settings) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(most_bytes(settings));
    arguments.SetCompressionAlgorithm(GRPC_COMPRESS_NONE);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, INT_MAX);
    return arguments;
}

} // namespace

int Connection::gone(ipcmark_error *error) {
    ipcmark_fail(error, "exchange", "messages by gRPC", "the other end is closed", nullptr);
    return IPCMARK_PEER_GONE;
}

// Set-up -----------------------------------------------------------------------------------------

int Connection::open(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    prepare_library();
    sleeps = settings.wait != IPCMARK_SPIN;
    patience = sleeps ? LONGEST_SLEEP : gpr_inf_past(GPR_CLOCK_MONOTONIC);
    session->note(session, "protobuf", google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION).c_str());
    return flow.open(settings.role == IPCMARK_LEADER, 1, session, error);
}

int Connection::connect(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    char address[MOST_PATH_BYTES];
    size_t len = sizeof address, none = 0;
    int result = open(settings, session, error);
    if (result == IPCMARK_DONE)
        result = session->receive(session, 0, address, &len, nullptr, &none, error);
    if (result != IPCMARK_DONE)
        return result;
    path.assign(address, len);
    answers = std::make_unique<grpc::CompletionQueue>();
    queue = answers.get();
    stub = Exchange::NewStub(
        grpc::CreateCustomChannel("unix:" + path, grpc::InsecureChannelCredentials(), channel_arguments(settings)));
    return IPCMARK_DONE;
}

int Connection::listen(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    if (const int result = open(settings, session, error))
        return result;
    path = socket_path(settings);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
    builder.RegisterService(&service);
    builder.SetMaxReceiveMessageSize(most_bytes(settings));
    builder.SetDefaultCompressionAlgorithm(GRPC_COMPRESS_NONE);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, INT_MAX);
    calls = builder.AddCompletionQueue();
    queue = calls.get();
    server = builder.BuildAndStart();
    return server ? IPCMARK_DONE : fail(error, "listen at", path, "the library does not say why");
}

int Connection::tell_address(ipcmark_session *session, ipcmark_error *error) const {
    return session->send(session, 0, path.data(), path.size(), nullptr, 0, error);
}

int Connection::complete(Operation &operation, const ipcmark::Deadline &deadline, ipcmark_error *error) {
    while (operation.is_under_way()) {
        if (next(LONGEST_SLEEP))
            continue;
        if (flow.is_peer_closed())
            return gone(error);
        if (deadline.has_passed())
            return fail(error, "connect", path, deadline.missed("the other end did not come"));
    }
    return operation.collect() ? IPCMARK_DONE : fail(error, "connect", path, "the call has failed");
}

// Teardown ---------------------------------------------------------------------------------------

bool Connection::close() {
    if (server)
        server->Shutdown(Clock::now());
    if (!queue)
        return true;
    queue->Shutdown();
    const auto deadline = Clock::now() + CLOSED_WITHIN;
    void *tag = nullptr;
    bool ok = false;
    auto status = grpc::CompletionQueue::GOT_EVENT;
    while (status == grpc::CompletionQueue::GOT_EVENT)
        status = queue->AsyncNext(&tag, &ok, deadline);
    return status == grpc::CompletionQueue::SHUTDOWN;
}

} // namespace grpc_module
