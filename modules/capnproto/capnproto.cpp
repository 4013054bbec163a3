// capnp-rpc: messages as streaming calls of Cap'n Proto RPC over a Unix domain socket.
//
// - Mechanism: two-party RPC in the event loop of kj, which runs on the endpoint's own thread. Each endpoint calls the
//   other one's sink.
// - Kernel objects: a pair of Unix stream sockets; the loop's epoll set, eventfd and signalfd.
// - Copies a message: two, into the kernel and out of it. It is written and read in place in the library's messages.
// - Blocks: in epoll_wait(2) within the event loop.
// - Limits: two ends on one host. The library works only within its calls, and allocates memory for every message.
#include "link.hpp"

#include "shared/cpp/description.hpp"
#include "shared/cpp/descriptors.hpp"
#include "shared/cpp/options.hpp"

#include <cerrno>
#include <memory>
#include <string>

#include <sys/socket.h>
#include <unistd.h>

namespace capnproto {

namespace {

constexpr const char *OBJECT = "an end of Cap'n Proto RPC";

struct End {
    End(int socket, const ipcmark_settings &settings)
        : link(socket, settings.role == IPCMARK_LEADER, settings.wait != IPCMARK_SPIN) {}

    Link link;
    bool is_sending = false;
};

int fail(ipcmark_error *error, const char *operation, const kj::Exception &exception) {
    ipcmark_fail(error, operation, OBJECT, exception.getDescription().cStr(), nullptr);
    return exception.getType() == kj::Exception::Type::DISCONNECTED ? IPCMARK_PEER_GONE : IPCMARK_FAILED;
}

// Converts every exception of the library to an error of the operation.
template <typename Body> int guarded(ipcmark_error *error, const char *operation, Body body) noexcept {
    try {
        return body();
    } catch (const kj::Exception &exception) {
        return fail(error, operation, exception);
    } catch (const std::bad_alloc &) {
        return ipcmark_fail(error, operation, OBJECT, "there is no memory left", nullptr);
    }
}

// Set-up and teardown ----------------------------------------------------------------------------

int make_pair(int *own, ipcmark_session *session, ipcmark_error *error) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        return ipcmark_fail_errno(error, "make", "a pair of sockets", errno, "ulimit -n 1024");
    const int result = session->send(session, 0, "socket", 6, &sockets[1], 1, error);
    close(sockets[1]);
    *own = sockets[0];
    return result;
}

int receive_socket(int *own, ipcmark_session *session, ipcmark_error *error) {
    int sockets[1];
    const int result =
        ipcmark::receive_descriptors(session, sockets, "open", OBJECT, "the leader sent no socket", error);
    if (result == IPCMARK_DONE)
        *own = sockets[0];
    return result;
}

// The library uses the size of the send buffer as the window of unanswered calls.
int set_buffer(int socket, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    const int wanted = static_cast<int>(ipcmark::number(settings, "send-buffer", 0));
    if (wanted > 0 && setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &wanted, sizeof wanted) != 0 &&
        setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &wanted, sizeof wanted) != 0)
        return ipcmark_fail_errno(error, "set the send buffer of", OBJECT, errno, nullptr);
    int granted = 0;
    socklen_t size = sizeof granted;
    if (getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &granted, &size) != 0)
        return ipcmark_fail_errno(error, "ask for the send buffer of", OBJECT, errno, nullptr);
    session->note(session, "send buffer", (std::to_string(granted) + " bytes, the window too").c_str());
    return IPCMARK_DONE;
}

void close_end(void *opened) {
    ipcmark_error unread{};
    guarded(&unread, "close", [opened] {
        delete static_cast<End *>(opened);
        return IPCMARK_DONE;
    });
}

int connect(int socket, const ipcmark_settings &settings, const ipcmark::Deadline &deadline, ipcmark_session *session,
            void **opened, ipcmark_error *error) {
    End *end = nullptr;
    int result = guarded(error, "connect", [&] {
        end = new End(socket, settings);
        end->link.connect(deadline);
        return IPCMARK_DONE;
    });
    if (result == IPCMARK_DONE)
        result = session->meet(session, error);
    if (result == IPCMARK_DONE)
        *opened = end;
    else
        close_end(end);
    return result;
}

int open_end(const ipcmark_transport *, const ipcmark_settings *settings, ipcmark_session *session, void **opened,
             ipcmark_error *error) {
    const ipcmark::Deadline deadline(*settings);
    int socket = -1;
    int result =
        settings->role == IPCMARK_LEADER ? make_pair(&socket, session, error) : receive_socket(&socket, session, error);
    if (result == IPCMARK_DONE)
        result = set_buffer(socket, *settings, session, error);
    if (result == IPCMARK_DONE)
        return connect(socket, *settings, deadline, session, opened, error);
    if (socket >= 0)
        close(socket);
    return result;
}

// The hot path -----------------------------------------------------------------------------------

int loan(void *end, size_t len, void **room, ipcmark_error *error) {
    return guarded(error, "make a message of", [&] {
        *room = static_cast<End *>(end)->link.begin(len).begin();
        return IPCMARK_DONE;
    });
}

// A message counts as published once the socket has all of it: the library works only within its calls, and the next
// call may come much later.
int publish(void *end, void *, size_t, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    return guarded(error, "send by", [&self] {
        if (!self.is_sending && !self.link.has_room())
            return IPCMARK_WOULD_BLOCK;
        if (!self.is_sending)
            self.link.send();
        self.is_sending = !self.link.is_flushed();
        return self.is_sending ? IPCMARK_WOULD_BLOCK : IPCMARK_DONE;
    });
}

int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    return guarded(error, "receive by", [&] {
        if (!self.link.has_message())
            return IPCMARK_WOULD_BLOCK;
        *message = self.link.message().begin();
        *len = self.link.message().size();
        return IPCMARK_DONE;
    });
}

int release(void *end, const void *, ipcmark_error *error) {
    return guarded(error, "answer by", [end] {
        static_cast<End *>(end)->link.release();
        return IPCMARK_DONE;
    });
}

// The definition ---------------------------------------------------------------------------------

const ipcmark_option_spec OPTIONS[] = {
    {"send-buffer", "4k..64M", "what the kernel chooses",
     "bytes on their way out that the socket holds, and that unanswered calls may have"},
};

ipcmark_transport describe() {
    auto transport = ipcmark::describe_transport(
        "capnp-rpc", "streaming calls of Cap'n Proto RPC over a Unix domain socket, two copies",
        IPCMARK_SPIN | IPCMARK_BLOCK, IPCMARK_IN_KERNEL);
    ipcmark::set_options(transport, OPTIONS);
    transport.open = open_end;
    transport.loan = loan;
    transport.publish = publish;
    transport.take = take;
    transport.release = release;
    transport.close = close_end;
    return transport;
}

const ipcmark_transport rpc = describe();
const ipcmark_transport *const TRANSPORTS[] = {&rpc};

// The version is a part of the names of the linked library files.
const char *library_version() {
    static const std::string version = std::to_string(CAPNP_VERSION_MAJOR) + "." + std::to_string(CAPNP_VERSION_MINOR) +
                                       "." + std::to_string(CAPNP_VERSION_MICRO);
    return version.c_str();
}

} // namespace

} // namespace capnproto

const struct ipcmark_module *ipcmark_module(void) {
    static const auto module = ipcmark::describe_module("capnproto", capnproto::library_version, capnproto::TRANSPORTS);
    return &module;
}
