// pyzmq: PAIR sockets of ZeroMQ with its Python package, with an interpreter in each process.
//
// - Mechanism: send() of a memoryview and recv() of bytes; a context with one I/O thread in each process, which
//   needs no interpreter.
// - Kernel objects: a Unix stream connection with an abstract name, which is not a file; an eventfd for each queue.
// - Copies a message: four: into ZeroMQ's own memory, into the kernel, out of it, into the received bytes.
// - Blocks: in send() and recv(), 100 ms at most, which pyzmq calls without Python's lock.
// - Spins: with NOBLOCK, which raises a Python exception if nothing is there.
// - Limits: a queue holds up to 64 MiB of messages, at most 1,000.
#include "interpreter.hpp"
#include "outgoing.hpp"
#include "peer.hpp"
#include "python.hpp"
#include "python/text.hpp"

#include "shared/cpp/description.hpp"

#include <algorithm>
#include <memory>
#include <string>

namespace {

using python::Object;

constexpr const char *OBJECT = "a socket of pyzmq";

struct End {
    Object socket, receive, message;
    python::Outgoing outgoing;
    size_t largest = 0;
    python::Peer peer;

    End() = default;
    End(const End &) = delete;
    End &operator=(const End &) = delete;
    ~End();
};

End::~End() {
    const Object closed(socket ? PyObject_CallMethod(socket.get(), "close", nullptr) : nullptr);
    PyErr_Clear();
}

// Set-up and teardown ----------------------------------------------------------------------------

int load_script(Object *script, ipcmark_error *error) {
    const int result = python::start(script, "ipcmark_sockets", python::SOCKETS_TEXT, error);
    if (result == IPCMARK_FAILED && error->remedy[0] == '\0')
        snprintf(error->remedy, sizeof error->remedy, "apt install python3-zmq");
    return result;
}

int probe(const ipcmark_transport *, ipcmark_error *error) {
    Object script;
    return load_script(&script, error);
}

long mark_for(const ipcmark_settings &settings) {
    return static_cast<long>(std::min<uint64_t>((64u << 20) / settings.payload, 1000));
}

int make(End &end, PyObject *script, const ipcmark_settings &settings, ipcmark_error *error) {
    const Object mark(PyLong_FromLong(mark_for(settings)));
    if (!end.outgoing.make(settings.payload))
        return python::fail(error, "make", OBJECT);
    end.socket = python::call(script, "End",
                              {end.outgoing.room(), mark.get(), settings.wait == IPCMARK_SPIN ? Py_True : Py_False});
    if (!end.socket)
        return python::fail(error, "make", OBJECT);
    end.outgoing.set_sender(PyObject_GetAttrString(end.socket.get(), "send"));
    end.receive.reset(PyObject_GetAttrString(end.socket.get(), "receive"));
    end.largest = settings.payload;
    return IPCMARK_DONE;
}

// The leader binds its socket before the follower connects.
int join(End &end, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    const bool leads = settings.role == IPCMARK_LEADER;
    const std::string address = std::string("ipc://@") + settings.name;
    const auto attach = [&](const char *method) {
        const Object attached(PyObject_CallMethod(end.socket.get(), method, "s", address.c_str()));
        return attached ? IPCMARK_DONE : python::fail(error, method, OBJECT);
    };
    int result = leads ? attach("bind") : IPCMARK_DONE;
    if (result == IPCMARK_DONE)
        result = end.peer.open(settings, session, error);
    if (result == IPCMARK_DONE && !leads)
        result = attach("connect");
    return result == IPCMARK_DONE ? session->meet(session, error) : result;
}

int open_end(const ipcmark_transport *, const ipcmark_settings *settings, ipcmark_session *session, void **opened,
             ipcmark_error *error) {
    Object script;
    if (const int result = load_script(&script, error))
        return result;
    auto end = std::make_unique<End>();
    int result = make(*end, script.get(), *settings, error);
    if (result == IPCMARK_DONE)
        result = join(*end, *settings, session, error);
    if (result != IPCMARK_DONE)
        return result;
    session->note(session, "high-water marks", (std::to_string(mark_for(*settings)) + " messages").c_str());
    const Object version = python::call(script.get(), "version", {});
    session->note(session, "pyzmq", version ? PyUnicode_AsUTF8(version.get()) : "");
    *opened = end.release();
    return IPCMARK_DONE;
}

void close_end(void *end) {
    delete static_cast<End *>(end);
}

// The hot path -----------------------------------------------------------------------------------

int loan(void *end, size_t len, void **room, ipcmark_error *) {
    *room = static_cast<End *>(end)->outgoing.lend(len);
    return IPCMARK_DONE;
}

int publish(void *end, void *, size_t, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    const Object sent = self.outgoing.send();
    if (!sent)
        return python::fail(error, "send through", OBJECT);
    return sent.get() == Py_True ? IPCMARK_DONE : self.peer.not_yet(error, "send through", OBJECT);
}

int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    self.message.reset(PyObject_CallNoArgs(self.receive.get()));
    if (!self.message)
        return python::fail(error, "receive from", OBJECT);
    if (self.message.get() == Py_None)
        return self.peer.not_yet(error, "receive from", OBJECT);
    // It comes from the other process.
    return python::is_message(self.message.get(), self.largest, message, len)
               ? IPCMARK_DONE
               : ipcmark_fail(error, "receive from", OBJECT, "the message is too long", nullptr);
}

int release(void *end, const void *, ipcmark_error *) {
    static_cast<End *>(end)->message.reset();
    return IPCMARK_DONE;
}

// The definition ---------------------------------------------------------------------------------

ipcmark_transport describe() {
    auto transport = ipcmark::describe_transport(
        "pyzmq", "PAIR sockets of ZeroMQ in Python over a Unix domain socket, an I/O thread each side",
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

const ipcmark_transport pyzmq = describe();
