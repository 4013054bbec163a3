// Shared code of the gRPC endpoints: a channel or a server on a Unix domain socket, and the completion queue that one
// thread polls.
#pragma once

#include "message.grpc.pb.h"

#include "shared/cpp/flow_control.hpp"
#include "shared/cpp/within.hpp"

#include <ipcmark/transport.h>

#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

namespace grpc_module {

using ipcmark_grpc::Exchange;
using ipcmark_grpc::Message;

// An operation of the library, and the tag with which the completion queue reports its end.
class Operation {
  public:
    // Called before the operation is passed to the library: returns the tag.
    void *begin() {
        state = State::UNDER_WAY;
        return this;
    }

    // Called when the completion queue has returned the tag.
    void end(bool went_well) {
        state = State::OVER;
        ok = went_well;
    }

    bool is_idle() const { return state == State::IDLE; }
    bool is_under_way() const { return state == State::UNDER_WAY; }

    // Makes the operation ready for reuse; true if it succeeded.
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

    // For the leader: a channel to the socket at which the follower listens.
    int connect(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error);

    // For the follower: a listening server. The leader connects after tell_address has sent the address.
    int listen(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error);
    int tell_address(ipcmark_session *session, ipcmark_error *error) const;

    // For set-up: sleeps until the operation is over.
    int complete(Operation &operation, const ipcmark::Deadline &deadline, ipcmark_error *error);

    // Polls once, or sleeps for a while, until the operation is over: DONE, WOULD_BLOCK or PEER_GONE.
    int await(const Operation &operation, ipcmark_error *error) {
        while (operation.is_under_way())
            if (!next(patience))
                return is_peer_gone() ? gone(error) : IPCMARK_WOULD_BLOCK;
        return IPCMARK_DONE;
    }

    // Lets the library work once, while the endpoint waits for no operation: WOULD_BLOCK or PEER_GONE.
    int work(ipcmark_error *error) {
        return !next(sleeps ? SHORT_SLEEP : patience) && is_peer_gone() ? gone(error) : IPCMARK_WOULD_BLOCK;
    }

    // Ends all operations. False if the library still has some of them, whose memory must stay.
    bool close();

    // The error of an endpoint whose peer is gone.
    static int gone(ipcmark_error *error);

    ipcmark::FlowControl flow; // Detects that the other process is gone if the library does not.
    grpc::CompletionQueue *queue = nullptr;
    std::unique_ptr<Exchange::Stub> stub; // Only in the leader.
    Exchange::AsyncService service;       // Only in the follower.

    // The queue with the type that the service requires.
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

    // Costs a system call, so a polling endpoint checks rarely.
    bool is_peer_gone() { return (sleeps || ++polls % POLLS_A_LOOK == 0) && flow.is_peer_closed(); }

    static constexpr uint64_t POLLS_A_LOOK = 4096;
    static constexpr gpr_timespec SHORT_SLEEP = {0, 1000000, GPR_TIMESPAN};

    bool sleeps = false;
    uint64_t polls = 0;
    gpr_timespec patience{}; // The time to wait for an event: zero, or a while.
    std::string path;
    std::unique_ptr<grpc::CompletionQueue> answers;
    std::unique_ptr<grpc::ServerCompletionQueue> calls;
    std::unique_ptr<grpc::Server> server;
};

} // namespace grpc_module
