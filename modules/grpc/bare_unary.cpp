// A bare program of calls by gRPC, the baseline for grpc-cpp-unary: a message of the leader is a request, and the
// follower's is its response.
#include "bare_grpc.hpp"

namespace {

// A context belongs to one call.
struct Served {
    grpc::ServerContext context;
    grpc::ServerAsyncResponseWriter<Message> writer{&context};
};

struct End {
    BareConnection connection;
    std::unique_ptr<grpc::ClientContext> context;
    std::unique_ptr<grpc::ClientAsyncResponseReader<Message>> reader;
    std::unique_ptr<Served> served;
    grpc::Status status;
    Message outgoing, incoming;
};

void await_call(End &end) {
    auto *const calls = end.connection.calls.get();
    end.served = std::make_unique<Served>();
    auto &[context, writer] = *end.served;
    end.connection.service.RequestUnary(&context, &end.incoming, &writer, calls, calls, nullptr);
}

void call(End &end) {
    end.reader.reset();
    end.context = std::make_unique<grpc::ClientContext>();
    end.context->set_wait_for_ready(true);
    end.reader = end.connection.stub->AsyncUnary(end.context.get(), end.outgoing, end.connection.queue);
    end.reader->Finish(&end.incoming, &end.status, nullptr);
}

} // namespace

static void *bare_open(const struct bare *bare) {
    auto *const end = new End;
    end->connection.open(bare, [] {});
    end->outgoing.mutable_payload()->assign(bare->payload, '\1');
    return end;
}

static void bare_send(void *end, const struct bare *bare, uint64_t number) {
    auto &self = *static_cast<End *>(end);
    bare_write(self.outgoing.mutable_payload()->data(), number);
    if (bare->leads)
        return call(self);
    self.served->writer.Finish(self.outgoing, grpc::Status::OK, nullptr);
    self.connection.complete(bare->spins);
}

static uint64_t bare_receive(void *end, const struct bare *bare) {
    auto &self = *static_cast<End *>(end);
    if (!bare->leads)
        await_call(self);
    self.connection.complete(bare->spins);
    if (bare->leads && !self.status.ok())
        bare_fail("call by gRPC");
    return bare_read(self.incoming.payload().data());
}

static void bare_close(void *end) {
    auto *const self = static_cast<End *>(end);
    self->connection.close();
    delete self;
}

int main(int argc, char **argv) {
    return bare_main(argc, argv);
}
