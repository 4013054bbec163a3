#include "link.hpp"

namespace capnproto {

namespace {

using ipcmark_capnproto::Exchange;

// The words around a message: the call, and the pointer to the message in it.
constexpr uint64_t HEAD_WORDS = 4;

// A thread can have only one event loop, but a process several endpoints.
std::shared_ptr<kj::AsyncIoContext> event_loop() {
    static std::weak_ptr<kj::AsyncIoContext> shared;
    auto loop = shared.lock();
    if (!loop)
        shared = loop = std::make_shared<kj::AsyncIoContext>(kj::setupAsyncIo());
    return loop;
}

kj::Duration left(const ipcmark::Deadline &deadline) {
    return deadline.left().count() * kj::MILLISECONDS;
}

kj::Exception closed() {
    return KJ_EXCEPTION(DISCONNECTED, "the other end is closed");
}

// The follower's interface: receives the leader's sink, and returns its own.
class Follower final : public Exchange::Server {
  public:
    Follower(Sink::Client own, Sink::Client &other, kj::Own<kj::PromiseFulfiller<void>> called)
        : own(kj::mv(own)), other(other), called(kj::mv(called)) {}

    kj::Promise<void> connect(ConnectContext context) override {
        context.getResults().setFollower(own);
        other = context.getParams().getLeader();
        called->fulfill();
        return kj::READY_NOW;
    }

  private:
    Sink::Client own, &other;
    kj::Own<kj::PromiseFulfiller<void>> called;
};

} // namespace

kj::Promise<void> Inbox::write(WriteContext context) {
    taken = context.getParams().getMessage();
    auto promise = kj::newPromiseAndFulfiller<void>();
    answer = kj::mv(promise.fulfiller);
    return kj::mv(promise.promise);
}

void Inbox::empty() {
    answer->fulfill();
    answer = nullptr;
}

// Set-up -----------------------------------------------------------------------------------------

Link::Link(int socket, bool leads, bool sleeps) : Link(kj::heap<Inbox>(), socket, leads, sleeps) {}

Link::Link(kj::Own<Inbox> made, int socket, bool leads, bool sleeps)
    : leads(leads), sleeps(sleeps), io(event_loop()),
      stream(io->lowLevelProvider->wrapSocketFd(kj::AutoCloseFd(socket))), inbox(*made), own(kj::mv(made)),
      other(nullptr), window(kj::READY_NOW), hang_up(kj::READY_NOW) {}

void Link::connect(const ipcmark::Deadline &deadline) {
    leads ? lead(deadline) : follow(deadline);
    hang_up = client->onDisconnect().then([this] { failure = closed(); }).eagerlyEvaluate(nullptr);
    run();
}

void Link::lead(const ipcmark::Deadline &deadline) {
    client = kj::heap<capnp::TwoPartyClient>(*stream);
    auto call = client->bootstrap().castAs<Exchange>().connectRequest();
    call.setLeader(own);
    auto answer = io->provider->getTimer().timeoutAfter(left(deadline), call.send());
    other = answer.wait(io->waitScope).getFollower();
}

void Link::follow(const ipcmark::Deadline &deadline) {
    auto called = kj::newPromiseAndFulfiller<void>();
    client = kj::heap<capnp::TwoPartyClient>(*stream, kj::heap<Follower>(own, other, kj::mv(called.fulfiller)),
                                             capnp::rpc::twoparty::Side::SERVER);
    auto gone = client->onDisconnect().then([] { kj::throwFatalException(closed()); });
    auto either = called.promise.exclusiveJoin(kj::mv(gone));
    io->provider->getTimer().timeoutAfter(left(deadline), kj::mv(either)).wait(io->waitScope);
}

// The hot path -----------------------------------------------------------------------------------

void Link::run() {
    kj::evalLast([] {}).wait(io->waitScope);
}

void Link::throw_failure() const {
    KJ_IF_MAYBE (exception, failure)
        kj::throwFatalException(kj::cp(*exception));
}

kj::ArrayPtr<kj::byte> Link::begin(size_t len) {
    request = nullptr;
    auto &made = request.emplace(other.writeRequest(capnp::MessageSize{len / sizeof(capnp::word) + HEAD_WORDS, 0}));
    return made.initMessage(static_cast<uint>(len));
}

void Link::send() {
    is_open = false;
    auto sent = KJ_ASSERT_NONNULL(request).send();
    request = nullptr;
    window = sent.then([this] { is_open = true; }).eagerlyEvaluate([this](kj::Exception &&exception) {
        failure = kj::mv(exception);
    });
    run();
}

void Link::release() {
    inbox.empty();
    run();
}

} // namespace capnproto
