// nanomsg-ipc: PAIR sockets of nanomsg between processes.
//
// - Mechanism: nn_send and nn_recv; a thread of nanomsg in each process reads incoming messages.
// - Kernel objects: a Unix stream connection at a socket in the session's directory; nanomsg's thread, with an epoll
//   and event descriptors.
// - Copies a message: three, into a message of nanomsg's, into the kernel and out of it; one more for the part that it
//   reads ahead.
// - Blocks: in nn_send and nn_recv, 100 ms at most.
// - Limits: nanomsg allocates memory for every message. Both ends are on one host.
#include "shared/c/address.h"
#include "shared/cpp/description.hpp"
#include "shared/cpp/loaded_version.hpp"
#include "shared/cpp/socket_path.hpp"

#include <cerrno>
#include <memory>
#include <new>
#include <string>

#include <nanomsg/nn.h>
#include <nanomsg/pair.h>
#include <unistd.h>

namespace {

constexpr int LONGEST_SLEEP_MS = 100;
constexpr const char *OBJECT = "a socket of nanomsg";

struct End {
    End() = default;
    End(const End &) = delete;
    End &operator=(const End &) = delete;
    ~End();

    int socket = -1, flags = 0;
    std::string path; // Only in the leader.
    void *message = nullptr;
};

// Set-up and teardown ----------------------------------------------------------------------------

End::~End() {
    if (message)
        nn_freemsg(message);
    while (socket >= 0 && nn_close(socket) != 0 && nn_errno() == EINTR) {
    }
    if (!path.empty())
        unlink(path.c_str());
}

int fail(ipcmark_error *error, const char *operation) {
    return ipcmark_fail(error, operation, OBJECT, nn_strerror(nn_errno()), nullptr);
}

// Limits sleeps, and allows messages as large as the payload: the library's default limit is 1 MiB.
int make_socket(End &end, const ipcmark_settings &settings, ipcmark_error *error) {
    const int most = static_cast<int>(settings.payload), limit = LONGEST_SLEEP_MS;
    end.flags = settings.wait == IPCMARK_SPIN ? NN_DONTWAIT : 0;
    end.socket = nn_socket(AF_SP, NN_PAIR);
    if (end.socket < 0)
        return fail(error, "make");
    if (nn_setsockopt(end.socket, NN_SOL_SOCKET, NN_RCVMAXSIZE, &most, sizeof most) != 0 ||
        nn_setsockopt(end.socket, NN_SOL_SOCKET, NN_SNDTIMEO, &limit, sizeof limit) != 0 ||
        nn_setsockopt(end.socket, NN_SOL_SOCKET, NN_RCVTIMEO, &limit, sizeof limit) != 0)
        return fail(error, "set an option of");
    return IPCMARK_DONE;
}

int note_buffers(const End &end, ipcmark_session *session, ipcmark_error *error) {
    int sent = 0, received = 0;
    size_t size = sizeof sent;
    if (nn_getsockopt(end.socket, NN_SOL_SOCKET, NN_SNDBUF, &sent, &size) != 0 ||
        nn_getsockopt(end.socket, NN_SOL_SOCKET, NN_RCVBUF, &received, &size) != 0)
        return fail(error, "ask for an option of");
    const auto text = std::to_string(sent) + " bytes sent, " + std::to_string(received) + " received";
    session->note(session, "buffers", text.c_str());
    return IPCMARK_DONE;
}

int listen(End &end, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    if (const int result = ipcmark::choose_socket(settings.directory, "nanomsg", &end.path, error))
        return result;
    ipcmark_addresses bound = {"", ""};
    std::snprintf(bound.there, sizeof bound.there, "ipc://%s", end.path.c_str());
    return nn_bind(end.socket, bound.there) < 0 ? fail(error, "bind") : ipcmark_send_addresses(session, &bound, error);
}

int connect(const End &end, ipcmark_session *session, ipcmark_error *error) {
    ipcmark_addresses bound;
    if (const int result = ipcmark_receive_addresses(session, &bound, OBJECT, error))
        return result;
    return nn_connect(end.socket, bound.there) < 0 ? fail(error, "connect") : IPCMARK_DONE;
}

int open_end(const ipcmark_transport *, const ipcmark_settings *settings, ipcmark_session *session, void **opened,
             ipcmark_error *error) {
    std::unique_ptr<End> end(new (std::nothrow) End);
    if (!end)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", nullptr);
    int result = make_socket(*end, *settings, error);
    if (result == IPCMARK_DONE)
        result = note_buffers(*end, session, error);
    if (result == IPCMARK_DONE)
        result =
            settings->role == IPCMARK_LEADER ? listen(*end, *settings, session, error) : connect(*end, session, error);
    if (result == IPCMARK_DONE)
        result = session->meet(session, error);
    if (result == IPCMARK_DONE)
        *opened = end.release();
    return result;
}

void close_end(void *end) {
    delete static_cast<End *>(end);
}

// The hot path -----------------------------------------------------------------------------------

int not_now(ipcmark_error *error, const char *operation) {
    const int number = nn_errno();
    const bool waits = number == EAGAIN || number == ETIMEDOUT || number == EINTR;
    return waits ? IPCMARK_WOULD_BLOCK : fail(error, operation);
}

int publish(void *end, void *message, size_t len, ipcmark_error *error) {
    const auto &self = *static_cast<End *>(end);
    return nn_send(self.socket, message, len, self.flags) < 0 ? not_now(error, "send by") : IPCMARK_DONE;
}

int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    const int count = nn_recv(self.socket, static_cast<void *>(&self.message), NN_MSG, self.flags);
    if (count < 0)
        return not_now(error, "receive by");
    *message = self.message;
    *len = static_cast<size_t>(count);
    return IPCMARK_DONE;
}

int release(void *end, const void *, ipcmark_error *) {
    auto &self = *static_cast<End *>(end);
    nn_freemsg(self.message);
    self.message = nullptr;
    return IPCMARK_DONE;
}

// The definition ---------------------------------------------------------------------------------

ipcmark_transport describe() {
    auto transport =
        ipcmark::describe_transport("nanomsg-ipc", "PAIR sockets of nanomsg over a Unix domain socket, three copies",
                                    IPCMARK_SPIN | IPCMARK_BLOCK, IPCMARK_IN_KERNEL);
    transport.open = open_end;
    transport.publish = publish;
    transport.take = take;
    transport.release = release;
    transport.close = close_end;
    return transport;
}

const ipcmark_transport ipc = describe();
const ipcmark_transport *const TRANSPORTS[] = {&ipc};

// The library gives its version only as the number of its file: 5.1.0 is that of nanomsg 1.1.5.
const char *library_version() {
    static const std::string version =
        "libnanomsg.so." + ipcmark::loaded_version(reinterpret_cast<const void *>(&nn_socket), "0");
    return version.c_str();
}

} // namespace

const struct ipcmark_module *ipcmark_module(void) {
    static const auto module = ipcmark::describe_module("nanomsg", library_version, TRANSPORTS);
    return &module;
}
