// A bare program of a bidirectional stream of gRPC, the baseline for grpc-cpp-stream.
#include "bare_grpc.hpp"

namespace {

struct End {
    BareConnection connection;
    grpc::ClientContext client_context;
    grpc::ServerContext server_context;
    std::unique_ptr<grpc::ClientAsyncReaderWriter<Message, Message>> client;
    grpc::ServerAsyncReaderWriter<Message, Message> server{&server_context};
    Message outgoing, incoming;
};

} // namespace

static void *bare_open(const struct bare *bare) {
    auto *const end = new End;
    auto &connection = end->connection;
    connection.open(bare, [&] {
        auto *const calls = connection.calls.get();
        connection.service.RequestStream(&end->server_context, &end->server, calls, calls, nullptr);
    });
    if (bare->leads) {
        end->client_context.set_wait_for_ready(true);
        end->client = connection.stub->AsyncStream(&end->client_context, connection.queue, nullptr);
    }
    connection.complete(bare->spins);
    end->outgoing.mutable_payload()->assign(bare->payload, '\1');
    end->incoming.mutable_payload()->assign(bare->payload, '\1');
    return end;
}

static void bare_send(void *end, const struct bare *bare, uint64_t number) {
    auto &self = *static_cast<End *>(end);
    const auto options = grpc::WriteOptions().set_write_through();
    bare_write(self.outgoing.mutable_payload()->data(), number);
    if (bare->leads)
        self.client->Write(self.outgoing, options, nullptr);
    else
        self.server.Write(self.outgoing, options, nullptr);
    self.connection.complete(bare->spins);
}

static uint64_t bare_receive(void *end, const struct bare *bare) {
    auto &self = *static_cast<End *>(end);
    if (bare->leads)
        self.client->Read(&self.incoming, nullptr);
    else
        self.server.Read(&self.incoming, nullptr);
    self.connection.complete(bare->spins);
    return bare_read(self.incoming.payload().data());
}

static void bare_close(void *end) {
    auto *const self = static_cast<End *>(end);
    if (self->client)
        self->client_context.TryCancel();
    self->connection.close();
    delete self;
}

int main(int argc, char **argv) {
    return bare_main(argc, argv);
}
