// A bare program of a bidirectional stream of gRPC, the baseline for grpc-cpp-stream.
#include "shared/c/bare.h"

#include "message.grpc.pb.h"

#include <climits>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

using ipcmark_grpc::Exchange;
using ipcmark_grpc::Message;

namespace {

struct End {
    std::unique_ptr<grpc::CompletionQueue> answers;
    std::unique_ptr<grpc::ServerCompletionQueue> calls;
    std::unique_ptr<grpc::Server> listener;
    Exchange::AsyncService service;
    std::unique_ptr<Exchange::Stub> stub;
    grpc::ClientContext client_context;
    grpc::ServerContext server_context;
    std::unique_ptr<grpc::ClientAsyncReaderWriter<Message, Message>> client;
    grpc::ServerAsyncReaderWriter<Message, Message> server{&server_context};
    grpc::CompletionQueue *queue = nullptr;
    Message outgoing, incoming;
};

// Only one operation is in progress at a time.
void complete(End &end, bool spins) {
    void *tag = nullptr;
    bool ok = false;
    if (spins) {
        while (end.queue->AsyncNext(&tag, &ok, gpr_inf_past(GPR_CLOCK_MONOTONIC)) != grpc::CompletionQueue::GOT_EVENT) {
        }
    } else {
        end.queue->Next(&tag, &ok);
    }
    if (!ok)
        bare_fail("exchange a message by gRPC");
}

void connect(End &end, const std::string &address, int most_bytes) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(most_bytes);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    end.answers = std::make_unique<grpc::CompletionQueue>();
    end.queue = end.answers.get();
    end.stub = Exchange::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    end.client_context.set_wait_for_ready(true);
    end.client = end.stub->AsyncStream(&end.client_context, end.queue, nullptr);
}

void listen(End &end, const std::string &address, int most_bytes) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(&end.service);
    builder.SetMaxReceiveMessageSize(most_bytes);
    end.calls = builder.AddCompletionQueue();
    end.queue = end.calls.get();
    end.listener = builder.BuildAndStart();
    if (!end.listener)
        bare_fail("listen");
    end.service.RequestStream(&end.server_context, &end.server, end.calls.get(), end.calls.get(), nullptr);
}

} // namespace

// The leader connects after the follower listens.
static void *bare_open(const struct bare *bare) {
    auto *const end = new End;
    const std::string address = std::string("unix-abstract:") + bare->name;
    const int most_bytes = static_cast<int>(bare->payload + 64);
    if (!bare->leads)
        listen(*end, address, most_bytes);
    bare_meet(bare);
    if (bare->leads)
        connect(*end, address, most_bytes);
    complete(*end, bare->spins);
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
    complete(self, bare->spins);
}

static uint64_t bare_receive(void *end, const struct bare *bare) {
    auto &self = *static_cast<End *>(end);
    if (bare->leads)
        self.client->Read(&self.incoming, nullptr);
    else
        self.server.Read(&self.incoming, nullptr);
    complete(self, bare->spins);
    return bare_read(self.incoming.payload().data());
}

static void bare_close(void *end) {
    auto *const self = static_cast<End *>(end);
    if (self->client)
        self->client_context.TryCancel();
    if (self->listener)
        self->listener->Shutdown(std::chrono::system_clock::now());
    self->queue->Shutdown();
    void *tag = nullptr;
    bool ok = false;
    while (self->queue->Next(&tag, &ok)) {
    }
    delete self;
}

int main(int argc, char **argv) {
    return bare_main(argc, argv);
}
