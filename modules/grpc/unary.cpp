// Calls: a message of the leader is a request, and the follower's next message is its response.
#include "end.hpp"
#include "transports.hpp"

#include "shared/cpp/description.hpp"

#include <memory>

namespace grpc_module {

namespace {

// gRPC reports that it has accepted a response, not that the socket has it. The socket, which is empty when the
// endpoints alternate, has room for a response of this size. With a larger one, the follower drives the library until
// the leader has the response: nobody else would. It requests the next call meanwhile, whose arrival ends its sleep.
constexpr size_t SURELY_SENT = 64u << 10;

// A context belongs to one call.
struct Served {
    grpc::ServerContext context;
    grpc::ServerAsyncResponseWriter<Message> writer{&context};
};

struct UnaryEnd final : End {
    int lead(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) override;
    int follow(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) override;
    void cancel() override;

    void call(const Message &message, bool waits_for_server);
    void request_call();

    bool leads = false;
    // The leader's call, or the follower's wait for a call and its response.
    Operation calling, receiving, responding;
    std::unique_ptr<grpc::ClientContext> context;
    std::unique_ptr<grpc::ClientAsyncResponseReader<Message>> reader;
    grpc::Status status;
    std::unique_ptr<Served> served;
    Message request; // Of the next call, which can arrive before the last message is released.
};

void UnaryEnd::call(const Message &message, bool waits_for_server) {
    reader.reset();
    context = std::make_unique<grpc::ClientContext>();
    context->set_wait_for_ready(waits_for_server);
    reader = connection.stub->AsyncUnary(context.get(), message, connection.queue);
    reader->Finish(&incoming, &status, calling.begin());
}

void UnaryEnd::request_call() {
    auto *const queue = connection.server_queue();
    served = std::make_unique<Served>();
    connection.service.RequestUnary(&served->context, &request, &served->writer, queue, queue, receiving.begin());
}

// Set-up and teardown ----------------------------------------------------------------------------

int fail(const grpc::Status &status, ipcmark_error *error) {
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE)
        return Connection::gone(error);
    return ipcmark_fail(error, "call", "a method of gRPC", status.error_message().c_str(), nullptr);
}

// A first call connects the two endpoints.
int UnaryEnd::lead(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    const ipcmark::Deadline deadline(settings);
    leads = true;
    if (const int result = connection.connect(settings, session, error))
        return result;
    call(Message(), true);
    if (const int result = connection.complete(calling, deadline, error))
        return result;
    return status.ok() ? IPCMARK_DONE : fail(status, error);
}

int UnaryEnd::follow(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    const ipcmark::Deadline deadline(settings);
    int result = connection.listen(settings, session, error);
    if (result != IPCMARK_DONE)
        return result;
    request.mutable_payload()->assign(settings.payload, '\1');
    request_call();
    result = connection.tell_address(session, error);
    if (result == IPCMARK_DONE)
        result = connection.complete(receiving, deadline, error);
    if (result != IPCMARK_DONE)
        return result;
    served->writer.Finish(Message(), grpc::Status::OK, responding.begin());
    return connection.complete(responding, deadline, error);
}

void UnaryEnd::cancel() {
    if (context)
        context->TryCancel();
}

// The hot path -----------------------------------------------------------------------------------

int respond(UnaryEnd &self, size_t len, ipcmark_error *error) {
    if (self.responding.is_idle()) {
        self.served->writer.Finish(self.outgoing, grpc::Status::OK, self.responding.begin());
        self.connection.flow.count_sent();
    }
    if (const int result = self.connection.await(self.responding, error))
        return result;
    if (len > SURELY_SENT && !self.connection.flow.has_room()) {
        if (self.receiving.is_idle())
            self.request_call();
        return self.connection.work(error);
    }
    return self.responding.collect() ? IPCMARK_DONE : Connection::gone(error);
}

// The library sends the rest of a request while the leader waits for the response to it.
int publish_unary(void *end, void *, size_t len, ipcmark_error *error) {
    auto &self = *static_cast<UnaryEnd *>(end);
    if (!self.leads)
        return respond(self, len, error);
    self.call(self.outgoing, false);
    return IPCMARK_DONE;
}

int take_response(UnaryEnd &self, ipcmark_error *error) {
    if (self.calling.is_idle()) // No call is in progress that could be answered.
        return self.connection.work(error);
    if (const int result = self.connection.await(self.calling, error))
        return result;
    self.connection.flow.count_released();
    self.calling.collect();
    return self.status.ok() ? IPCMARK_DONE : fail(self.status, error);
}

// The next call is requested when the follower starts to wait for it, unless it was while the leader got the response.
int take_request(UnaryEnd &self, ipcmark_error *error) {
    if (self.receiving.is_idle())
        self.request_call();
    if (const int result = self.connection.await(self.receiving, error))
        return result;
    self.incoming.Swap(&self.request);
    return self.receiving.collect() ? IPCMARK_DONE : Connection::gone(error);
}

int take_unary(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<UnaryEnd *>(end);
    const int result = self.leads ? take_response(self, error) : take_request(self, error);
    return result == IPCMARK_DONE ? deliver(self, message, len) : result;
}

} // namespace

// The definition ---------------------------------------------------------------------------------

ipcmark_transport describe_unary() {
    auto transport =
        ipcmark::describe_transport("grpc-cpp-unary", "unary calls of gRPC over a Unix domain socket, four copies",
                                    IPCMARK_SPIN | IPCMARK_BLOCK, IPCMARK_IN_KERNEL | IPCMARK_ALTERNATING);
    transport.open = open_end<UnaryEnd>;
    transport.loan = loan;
    transport.publish = publish_unary;
    transport.take = take_unary;
    transport.close = close_end;
    return transport;
}

} // namespace grpc_module
