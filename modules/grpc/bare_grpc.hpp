// Common code of the bare programs of gRPC: a channel or a server on a Unix domain socket, and one completion queue.
#pragma once

#include "message.grpc.pb.h"

#include "shared/c/bare.h"

#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

using ipcmark_grpc::Exchange;
using ipcmark_grpc::Message;

struct BareConnection {
    std::unique_ptr<grpc::CompletionQueue> answers;     // Only in the leader.
    std::unique_ptr<grpc::ServerCompletionQueue> calls; // Only in the follower.
    Exchange::AsyncService service;
    std::unique_ptr<grpc::Server> listener;
    std::unique_ptr<Exchange::Stub> stub;
    grpc::CompletionQueue *queue = nullptr;

    void connect(const std::string &address, int most_bytes) {
        grpc::ChannelArguments arguments;
        arguments.SetMaxReceiveMessageSize(most_bytes);
        arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
        answers = std::make_unique<grpc::CompletionQueue>();
        queue = answers.get();
        stub = Exchange::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    }

    void listen(const std::string &address, int most_bytes) {
        grpc::ServerBuilder builder;
        builder.AddListeningPort(address, grpc::InsecureServerCredentials());
        builder.RegisterService(&service);
        builder.SetMaxReceiveMessageSize(most_bytes);
        calls = builder.AddCompletionQueue();
        queue = calls.get();
        listener = builder.BuildAndStart();
        if (!listener)
            bare_fail("listen");
    }

    // The follower listens, and calls `ready` before the leader connects.
    template <typename Ready> void open(const struct bare *bare, Ready ready) {
        const std::string address = std::string("unix-abstract:") + bare->name;
        const int most_bytes = static_cast<int>(bare->payload + 64);
        if (!bare->leads) {
            listen(address, most_bytes);
            ready();
        }
        bare_meet(bare);
        if (bare->leads)
            connect(address, most_bytes);
    }

    // Only one operation is in progress at a time.
    void complete(bool spins) const {
        void *tag = nullptr;
        bool ok = false;
        if (spins) {
            while (queue->AsyncNext(&tag, &ok, gpr_inf_past(GPR_CLOCK_MONOTONIC)) != grpc::CompletionQueue::GOT_EVENT) {
            }
        } else {
            queue->Next(&tag, &ok);
        }
        if (!ok)
            bare_fail("exchange a message by gRPC");
    }

    void close() const {
        if (listener)
            listener->Shutdown(std::chrono::system_clock::now());
        queue->Shutdown();
        void *tag = nullptr;
        bool ok = false;
        while (queue->Next(&tag, &ok)) {
        }
    }
};
