// python-pipe: multiprocessing.Pipe of Python, with an interpreter in each process.
//
// - Mechanism: send_bytes() and recv_bytes_into() of a multiprocessing.connection.Connection; poll() if it spins.
// - Kernel objects: a pair of Unix stream sockets, duplex as Pipe() makes it; the follower gets its descriptor.
// - Copies a message: five up to 16 KiB: after its length, into the kernel, out of it, into a BytesIO, into the buffer;
//   four beyond. The payload is written and read in bytearrays.
// - Blocks: in read(2) and write(2), which Python calls without its lock.
// - Spins: only with messages that fit into the socket's buffer, because send_bytes() cannot return early; they are
//   counted, so that it does not sleep.
// - Limits: Python's allocations for each message.
#include "interpreter.hpp"
#include "python.hpp"
#include "python/text.hpp"

#include "shared/cpp/description.hpp"
#include "shared/cpp/descriptors.hpp"
#include "shared/cpp/flow_control.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include <poll.h>
#include <sys/socket.h>

namespace {

using python::Object;

constexpr const char *OBJECT = "a Connection of multiprocessing";

struct End {
    Object connection, send, receive;
    python::Buffer room, message;
    Object offset; // 0
    size_t len = 0;
    int socket = -1;
    bool spins = false;
    ipcmark::FlowControl flow; // If it spins.

    End() = default;
    End(const End &) = delete;
    End &operator=(const End &) = delete;
    ~End();
};

End::~End() {
    const Object closed(connection ? PyObject_CallMethod(connection.get(), "close", nullptr) : nullptr);
    PyErr_Clear();
}

// Converts Python's exception; the result is PEER_GONE if the socket reports it, because in the middle of a message
// Python raises a different exception.
int fail(const End &end, ipcmark_error *error, const char *operation) {
    const int result = python::fail(error, operation, OBJECT);
    pollfd hang_up{end.socket, 0, 0};
    return poll(&hang_up, 1, 0) > 0 && (hang_up.revents & POLLHUP) != 0 ? IPCMARK_PEER_GONE : result;
}

// Set-up and teardown ----------------------------------------------------------------------------

int load_script(Object *script, ipcmark_error *error) {
    return python::start(script, "ipcmark_pipe", python::PIPE_TEXT, error);
}

int probe(const ipcmark_transport *, ipcmark_error *error) {
    Object script;
    return load_script(&script, error);
}

// Keeps one Connection of the pair and sends the descriptor of the other.
int lead(End &end, PyObject *script, ipcmark_session *session, ipcmark_error *error) {
    const Object pair = python::call(script, "make", {});
    if (!pair)
        return fail(end, error, "make");
    end.connection.reset(PySequence_GetItem(pair.get(), 0));
    const Object theirs(PySequence_GetItem(pair.get(), 1));
    const int descriptor = PyObject_AsFileDescriptor(theirs.get());
    const int result = session->send(session, 0, "pipe", 4, &descriptor, 1, error);
    const Object closed(PyObject_CallMethod(theirs.get(), "close", nullptr));
    return result;
}

int follow(End &end, PyObject *script, ipcmark_session *session, ipcmark_error *error) {
    int descriptors[1];
    if (const int result =
            ipcmark::receive_descriptors(session, descriptors, "open", OBJECT, "the leader sent no socket", error))
        return result;
    const Object number(PyLong_FromLong(descriptors[0]));
    end.connection = python::call(script, "adopt", {number.get()});
    if (end.connection)
        return IPCMARK_DONE;
    close(descriptors[0]);
    return fail(end, error, "make");
}

// The most bytes that a socket's buffer counts for a message: the kernel rounds up its allocation.
size_t buffer_bytes(uint64_t payload) {
    return 2 * payload + 4096;
}

// The bytes of the socket's buffer for this endpoint's messages, enlarged to fit two of them if that is allowed.
size_t enlarge_buffer(int socket, uint64_t payload) {
    const int wanted = static_cast<int>(buffer_bytes(payload)); // The kernel doubles it.
    int size = 0;
    socklen_t len = sizeof size;
    getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, &len);
    if (size < 2 * wanted && setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &wanted, sizeof wanted) != 0)
        setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &wanted, sizeof wanted);
    len = sizeof size;
    getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, &len);
    return static_cast<size_t>(size);
}

// send_bytes() must not sleep, and cannot return early: no more messages may be unread than fit into the buffer.
int bound(End &end, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    const size_t buffer = enlarge_buffer(end.socket, settings.payload);
    const size_t depth = buffer / buffer_bytes(settings.payload);
    if (depth == 0)
        return ipcmark_fail(error, "spin with", OBJECT,
                            "its socket's buffer does not hold a message, and send_bytes() has no way not to wait",
                            "use -w block, --sandbox auto, or a larger net.core.wmem_max");
    session->note(session, "messages under way", std::to_string(depth).c_str());
    return end.flow.open(settings.role == IPCMARK_LEADER, depth, session, error);
}

int prepare(End &end, PyObject *script, const ipcmark_settings &settings, ipcmark_error *error) {
    const Object pair = python::call(script, "functions", {end.connection.get(), end.spins ? Py_True : Py_False});
    end.offset.reset(PyLong_FromLong(0));
    if (!pair || !end.offset || !end.room.make(settings.payload) || !end.message.make(settings.payload))
        return fail(end, error, "prepare");
    end.send.reset(PySequence_GetItem(pair.get(), 0));
    end.receive.reset(PySequence_GetItem(pair.get(), 1));
    return IPCMARK_DONE;
}

int open_end(const ipcmark_transport *, const ipcmark_settings *settings, ipcmark_session *session, void **opened,
             ipcmark_error *error) {
    Object script;
    if (const int result = load_script(&script, error))
        return result;
    auto end = std::make_unique<End>();
    end->spins = settings->wait == IPCMARK_SPIN;
    int result = settings->role == IPCMARK_LEADER ? lead(*end, script.get(), session, error)
                                                  : follow(*end, script.get(), session, error);
    if (result == IPCMARK_DONE)
        result = prepare(*end, script.get(), *settings, error);
    if (result != IPCMARK_DONE)
        return result;
    end->socket = PyObject_AsFileDescriptor(end->connection.get());
    if (end->spins)
        result = bound(*end, *settings, session, error);
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

int loan(void *end, size_t len, void **room, ipcmark_error *) {
    auto &self = *static_cast<End *>(end);
    if (self.spins && !self.flow.has_room())
        return IPCMARK_WOULD_BLOCK;
    self.len = len;
    *room = self.room.bytes();
    return IPCMARK_DONE;
}

int publish(void *end, void *, size_t, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    const Object len(PyLong_FromSize_t(self.len));
    PyObject *const arguments[] = {self.room.get(), self.offset.get(), len.get()};
    const Object sent(PyObject_Vectorcall(self.send.get(), arguments, 3, nullptr));
    if (!sent)
        return fail(self, error, "send through");
    if (self.spins)
        self.flow.count_sent();
    return IPCMARK_DONE;
}

int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    const Object received(PyObject_CallOneArg(self.receive.get(), self.message.get()));
    if (!received)
        return fail(self, error, "receive from");
    if (received.get() == Py_None)
        return IPCMARK_WOULD_BLOCK;
    *len = PyLong_AsSize_t(received.get());
    *message = self.message.bytes();
    return IPCMARK_DONE;
}

int release(void *end, const void *, ipcmark_error *) {
    auto &self = *static_cast<End *>(end);
    if (self.spins)
        self.flow.count_released();
    return IPCMARK_DONE;
}

// The definition ---------------------------------------------------------------------------------

ipcmark_transport describe() {
    auto transport = ipcmark::describe_transport(
        "python-pipe", "multiprocessing.Pipe of Python: bytes over a pair of Unix sockets, four copies or five",
        IPCMARK_SPIN | IPCMARK_BLOCK, IPCMARK_IN_KERNEL);
    transport.probe = probe;
    transport.open = open_end;
    transport.publish = publish;
    transport.take = take;
    transport.close = close_end;
    transport.loan = loan;
    transport.release = release;
    return transport;
}

} // namespace

const ipcmark_transport python_pipe = describe();
