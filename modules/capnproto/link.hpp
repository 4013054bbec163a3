// Two endpoints of Cap'n Proto RPC on one connected socket, each with a sink that the other one calls.
#pragma once

#include "exchange.capnp.h"

#include "shared/cpp/within.hpp"

#include <memory>

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>
#include <kj/async-unix.h>
#include <kj/io.h>

namespace capnproto {

using ipcmark_capnproto::Sink;

// Holds one message at a time: the library delivers the next streaming call after this one's promise is fulfilled.
class Inbox final : public Sink::Server {
  public:
    kj::Promise<void> write(WriteContext context) override;

    bool is_full() const { return answer.get() != nullptr; }
    capnp::Data::Reader message() const { return taken; }

    // Answers the call, which frees its memory.
    void empty();

  private:
    capnp::Data::Reader taken;
    kj::Own<kj::PromiseFulfiller<void>> answer;
};

// The functions throw kj::Exception, also if the other end is gone.
class Link {
  public:
    // Takes the ownership of the socket.
    Link(int socket, bool leads, bool sleeps);
    KJ_DISALLOW_COPY(Link);

    // Exchanges the sinks of both endpoints; both call it at the same time.
    void connect(const ipcmark::Deadline &deadline);

    // The memory of a new message. An unfinished earlier one is discarded.
    kj::ArrayPtr<kj::byte> begin(size_t len);

    // Sends the message that was begun.
    void send();

    // True if the socket has everything that was sent; if the window of unanswered calls has room for another; if there
    // is a message. They poll once, or sleep until it is true.
    bool is_flushed() {
        return await([this] { return client->getCurrentQueueCount() == 0; });
    }
    bool has_room() {
        return await([this] { return is_open; });
    }
    bool has_message() {
        return await([this] { return inbox.is_full(); });
    }

    capnp::Data::Reader message() const { return inbox.message(); }

    // Frees the message's memory, and answers its call.
    void release();

  private:
    Link(kj::Own<Inbox> made, int socket, bool leads, bool sleeps);

    template <typename Condition> bool await(Condition holds) {
        if (!holds() && !sleeps)
            io->waitScope.poll();
        while (!holds()) {
            throw_failure();
            if (!sleeps)
                return false;
            io->unixEventPort.wait();
            run();
        }
        return true;
    }

    void throw_failure() const;
    // Runs everything that is ready, without polling for more. Every function that makes something ready calls it, so
    // that the event loop never sleeps with work pending.
    void run();
    void lead(const ipcmark::Deadline &deadline);
    void follow(const ipcmark::Deadline &deadline);

    const bool leads, sleeps;
    const std::shared_ptr<kj::AsyncIoContext> io;
    kj::Own<kj::AsyncIoStream> stream;
    Inbox &inbox;
    Sink::Client own;
    bool is_open = true;
    kj::Maybe<kj::Exception> failure;
    Sink::Client other;
    kj::Own<capnp::TwoPartyClient> client;
    kj::Maybe<capnp::StreamingRequest<Sink::WriteParams>> request;
    // Last, so that no callback outlives the fields that it writes to.
    kj::Promise<void> window, hang_up;
};

} // namespace capnproto
