// What the ends of gRPC have in common: a channel or a server on a Unix domain socket, and the completion queue that
// one thread polls.
#pragma once

#include "message.grpc.pb.h"

#include "shared/cpp/flow_control.hpp"

#include <ipcmark/transport.h>

#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

namespace grpc_module {

using ipcmark_grpc::Exchange;
using ipcmark_grpc::Message;

// An operation of the library, and the tag by which the completion queue tells that it is over.
class Operation {
  public:
    // Before it is handed to the library: the tag.
    void *begin() {
        state = State::UNDER_WAY;
        return this;
    }

    // The completion queue has brought the tag.
    void end(bool went_well) {
        state = State::OVER;
        ok = went_well;
    }

    bool is_idle() const { return state == State::IDLE; }
    bool is_under_way() const { return state == State::UNDER_WAY; }

    // Makes room for the next one; true if this one went well.
    bool collect() {
        state = State::IDLE;
        return ok;
    }

  private:
    enum class State { IDLE, UNDER_WAY, OVER };
    State state = State::IDLE;
    bool ok = false;
};

class Connection {
  public:
    Connection() = default;
    Connection(const Connection &) = delete;
    Connection &operator=(const Connection &) = delete;

    // The leader's part: a channel to the socket at which the follower listens.
    int connect(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error);

    // The follower's part: a server that listens. The leader connects once it is told by tell_address.
    int listen(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error);
    int tell_address(ipcmark_session *session, ipcmark_error *error) const;

    // For set-up: sleeps until the operation is over, for a time in which the other end should be there.
    int complete(Operation &operation, ipcmark_error *error);

    // Polls once or sleeps for a while, as the end waits, until the operation is over: DONE, WOULD_BLOCK or PEER_GONE.
    int await(const Operation &operation, ipcmark_error *error) {
        while (operation.is_under_way())
            if (!next(patience))
                return is_peer_gone() ? gone(error) : IPCMARK_WOULD_BLOCK;
        return IPCMARK_DONE;
    }

    // Lets the library work once, while nothing is over that the end waits for: WOULD_BLOCK or PEER_GONE.
    int work(ipcmark_error *error) {
        return !next(sleeps ? SHORT_SLEEP : patience) && is_peer_gone() ? gone(error) : IPCMARK_WOULD_BLOCK;
    }

    // Ends all that is under way. False if the library still has some of it, whose memory has to stay.
    bool close();

    // The error of an end that is alone.
    static int gone(ipcmark_error *error);

    ipcmark::FlowControl flow; // Tells that the other process is gone where the library does not.
    grpc::CompletionQueue *queue = nullptr;
    std::unique_ptr<Exchange::Stub> stub; // The leader's.
    Exchange::AsyncService service;       // The follower's.

    // The queue under the name that the service wants.
    grpc::ServerCompletionQueue *server_queue() const { return calls.get(); }

  private:
    int open(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error);

    // Takes the next event; false if there is none in time.
    bool next(gpr_timespec limit) {
        void *tag = nullptr;
        bool ok = false;
        if (queue->AsyncNext(&tag, &ok, limit) != grpc::CompletionQueue::GOT_EVENT)
            return false;
        static_cast<Operation *>(tag)->end(ok);
        return true;
    }

    // One system call, so it is looked at rarely where an end polls.
    bool is_peer_gone() { return (sleeps || ++polls % POLLS_A_LOOK == 0) && flow.is_peer_closed(); }

    static constexpr uint64_t POLLS_A_LOOK = 4096;
    static constexpr gpr_timespec SHORT_SLEEP = {0, 1000000, GPR_TIMESPAN};

    bool sleeps = false;
    uint64_t polls = 0;
    gpr_timespec patience{}; // How long it waits for an event: not at all, or for a while.
    std::string path;
    std::unique_ptr<grpc::CompletionQueue> answers;
    std::unique_ptr<grpc::ServerCompletionQueue> calls;
    std::unique_ptr<grpc::Server> server;
};

} // namespace grpc_module
