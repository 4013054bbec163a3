// One bidirectional stream, which the leader opens: a message is a write at one end and a read at the other.
#include "end.hpp"
#include "transports.hpp"

#include "shared/cpp/description.hpp"

namespace grpc_module {

namespace {

struct StreamEnd final : End {
    int lead(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) override;
    int follow(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) override;
    void cancel() override;

    Operation starting, writing, reading;
    // A context belongs to one call and must outlive it.
    grpc::ClientContext client_context;
    grpc::ServerContext server_context;
    std::unique_ptr<grpc::ClientAsyncReaderWriter<Message, Message>> client;
    grpc::ServerAsyncReaderWriter<Message, Message> server{&server_context};
    // The common interfaces of both kinds of streams.
    grpc::internal::AsyncWriterInterface<Message> *writer = nullptr;
    grpc::internal::AsyncReaderInterface<Message> *reader = nullptr;
};

// Set-up and teardown ----------------------------------------------------------------------------

int StreamEnd::lead(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    const ipcmark::Deadline deadline(settings);
    if (const int result = connection.connect(settings, session, error))
        return result;
    client_context.set_wait_for_ready(true);
    client = connection.stub->AsyncStream(&client_context, connection.queue, starting.begin());
    writer = client.get();
    reader = client.get();
    return connection.complete(starting, deadline, error);
}

int StreamEnd::follow(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    const ipcmark::Deadline deadline(settings);
    if (const int result = connection.listen(settings, session, error))
        return result;
    auto *const queue = connection.server_queue();
    connection.service.RequestStream(&server_context, &server, queue, queue, starting.begin());
    writer = &server;
    reader = &server;
    if (const int result = connection.tell_address(session, error))
        return result;
    return connection.complete(starting, deadline, error);
}

void StreamEnd::cancel() {
    if (client)
        client_context.TryCancel();
}

// The hot path -----------------------------------------------------------------------------------

// Write-through: a write is over once the socket has all of it, not once the library has. The library works only within
// its calls, and the next call may come much later.
int publish_stream(void *end, void *, size_t, ipcmark_error *error) {
    auto &self = *static_cast<StreamEnd *>(end);
    if (self.writing.is_idle())
        self.writer->Write(self.outgoing, grpc::WriteOptions().set_write_through(), self.writing.begin());
    if (const int result = self.connection.await(self.writing, error))
        return result;
    return self.writing.collect() ? IPCMARK_DONE : Connection::gone(error);
}

// The read begins when the endpoint starts to wait, so that the peer's turn hides its cost.
int take_stream(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<StreamEnd *>(end);
    if (self.reading.is_idle())
        self.reader->Read(&self.incoming, self.reading.begin());
    if (const int result = self.connection.await(self.reading, error))
        return result;
    return self.reading.collect() ? deliver(self, message, len) : Connection::gone(error);
}

} // namespace

// The definition ---------------------------------------------------------------------------------

ipcmark_transport describe_stream() {
    auto transport = ipcmark::describe_transport(
        "grpc-cpp-stream", "a bidirectional stream of gRPC over a Unix domain socket, four copies",
        IPCMARK_SPIN | IPCMARK_BLOCK, IPCMARK_IN_KERNEL);
    transport.open = open_end<StreamEnd>;
    transport.loan = loan;
    transport.publish = publish_stream;
    transport.take = take_stream;
    transport.close = close_end;
    return transport;
}

} // namespace grpc_module
