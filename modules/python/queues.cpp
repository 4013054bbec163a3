// python-queue: multiprocessing.Queue of Python, one for each direction, with an interpreter in each process.
//
// - Mechanism: put() of bytes, which a thread of the library pickles and writes into a pipe; get(), which reads and
//   unpickles them.
// - Kernel objects: a pipe for each direction, whose descriptors are sent to the follower; futexes of three semaphores
//   for each, in memory without a name.
// - Copies a message: eight up to 16 KiB: into the bytes, into the pickle, into a BytesIO, after its length, into the
//   pipe, out of it, into a BytesIO, into the bytes that are read; six beyond 64 KiB. The payload is written in a
//   bytearray.
// - Blocks: in read(2), and on the semaphore of a full queue. There is no spinning: the library's thread and the
//   interpreter's lock, which both threads need, make an endpoint sleep anyway.
// - Limits: a queue holds at most 8 MiB, from 2 to 1024 messages, because Python's has no limit by default.
#include "interpreter.hpp"
#include "outgoing.hpp"
#include "python.hpp"
#include "python/text.hpp"
#include "semaphores.hpp"

#include "shared/cpp/description.hpp"
#include "shared/cpp/descriptors.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include <poll.h>

namespace {

using python::Object;

constexpr const char *OBJECT = "a Queue of multiprocessing";

struct End {
    python::Semaphores semaphores;
    Object to, from; // The pipes: a pair of Connections each.
    Object ends, receive, message;
    python::Outgoing outgoing;
    size_t largest = 0;
    int reader = -1, writer = -1;
};

// Holds Python's lock during a call: between two calls the feeder thread can have it.
class Locked {
  public:
    Locked() : before(PyGILState_Ensure()) {}
    Locked(const Locked &) = delete;
    Locked &operator=(const Locked &) = delete;
    ~Locked() { PyGILState_Release(before); }

  private:
    PyGILState_STATE before;
};

bool has_event(int descriptor, short event) {
    pollfd looked_at{descriptor, 0, 0};
    return poll(&looked_at, 1, 0) > 0 && (looked_at.revents & event) != 0;
}

// Set-up and teardown ----------------------------------------------------------------------------

int load_script(Object *script, ipcmark_error *error) {
    return python::start_with_semaphores(script, "ipcmark_queues", python::QUEUES_TEXT, error);
}

int probe(const ipcmark_transport *, ipcmark_error *error) {
    Object script;
    return load_script(&script, error);
}

// The descriptor of a pipe's reader (0) or writer (1).
int descriptor(const Object &pipe, Py_ssize_t index) {
    const Object connection(PySequence_GetItem(pipe.get(), index));
    return PyObject_AsFileDescriptor(connection.get());
}

// Makes both pipes and sends their descriptors.
int lead(End &end, PyObject *script, ipcmark_session *session, ipcmark_error *error) {
    end.to = python::call(script, "make", {});
    if (end.to)
        end.from = python::call(script, "make", {});
    if (!end.from)
        return python::fail(error, "make", OBJECT);
    const int descriptors[] = {descriptor(end.to, 0), descriptor(end.to, 1), descriptor(end.from, 0),
                               descriptor(end.from, 1)};
    return session->send(session, 0, "pipes", 5, descriptors, 4, error);
}

int follow(End &end, PyObject *script, ipcmark_session *session, ipcmark_error *error) {
    int descriptors[4];
    if (const int result =
            ipcmark::receive_descriptors(session, descriptors, "open", OBJECT, "the leader sent no pipes", error))
        return result;
    const auto adopt = [&](int reader, int writer) {
        const Object first(PyLong_FromLong(reader)), second(PyLong_FromLong(writer));
        return python::call(script, "adopt_pipe", {first.get(), second.get()});
    };
    end.from = adopt(descriptors[0], descriptors[1]);
    end.to = adopt(descriptors[2], descriptors[3]);
    return end.from && end.to ? IPCMARK_DONE : python::fail(error, "make", OBJECT);
}

unsigned depth_for(const ipcmark_settings &settings) {
    return static_cast<unsigned>(std::clamp<uint64_t>((8u << 20) / settings.payload, 2, 1024));
}

// The addresses of a queue's semaphores: the readers' lock, the writers' lock, the free places.
Object addresses(const End &end, size_t first) {
    const auto address = [&](size_t index) { return end.semaphores.address(first + index).release(); };
    return Object(Py_BuildValue("(NNN)", address(0), address(1), address(2)));
}

int prepare(End &end, PyObject *script, const ipcmark_settings &settings, ipcmark_error *error) {
    const bool leads = settings.role == IPCMARK_LEADER;
    const Object out = addresses(end, leads ? 0 : 3), in = addresses(end, leads ? 3 : 0);
    const Object depth(PyLong_FromUnsignedLong(depth_for(settings)));
    end.reader = descriptor(end.from, 0);
    end.writer = descriptor(end.to, 1);
    if (!end.outgoing.make(settings.payload))
        return python::fail(error, "prepare", OBJECT);
    end.ends = python::call(script, "Ends",
                            {end.to.get(), end.from.get(), out.get(), in.get(), depth.get(), end.outgoing.room()});
    if (!end.ends)
        return python::fail(error, "make", OBJECT);
    end.outgoing.set_sender(PyObject_GetAttrString(end.ends.get(), "send"));
    end.receive.reset(PyObject_GetAttrString(end.ends.get(), "receive"));
    end.largest = settings.payload;
    return IPCMARK_DONE;
}

int open_end(const ipcmark_transport *, const ipcmark_settings *settings, ipcmark_session *session, void **opened,
             ipcmark_error *error) {
    Object script;
    if (const int result = load_script(&script, error))
        return result;
    auto end = std::make_unique<End>();
    const bool leads = settings->role == IPCMARK_LEADER;
    const unsigned depth = depth_for(*settings);
    int result = leads ? lead(*end, script.get(), session, error) : follow(*end, script.get(), session, error);
    if (result == IPCMARK_DONE)
        result = end->semaphores.open(leads, {1, 1, depth, 1, 1, depth}, session, error);
    if (result == IPCMARK_DONE)
        result = prepare(*end, script.get(), *settings, error);
    if (result == IPCMARK_DONE)
        result = session->meet(session, error);
    if (result != IPCMARK_DONE)
        return result;
    session->note(session, "queue", (std::to_string(depth) + " messages").c_str());
    script.reset();
    PyEval_SaveThread();
    *opened = end.release();
    return IPCMARK_DONE;
}

void close_end(void *end) {
    const Locked locked;
    const std::unique_ptr<End> self(static_cast<End *>(end));
    const Object closed(PyObject_CallMethod(self->ends.get(), "close", nullptr));
    PyErr_Clear();
}

// The hot path -----------------------------------------------------------------------------------

int loan(void *end, size_t len, void **room, ipcmark_error *) {
    *room = static_cast<End *>(end)->outgoing.lend(len);
    return IPCMARK_DONE;
}

int publish(void *end, void *, size_t, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    const Locked locked;
    const Object sent = self.outgoing.send();
    if (!sent)
        return python::fail(error, "put into", OBJECT);
    if (sent.get() == Py_True)
        return IPCMARK_DONE;
    if (!has_event(self.writer, POLLERR))
        return IPCMARK_WOULD_BLOCK;
    ipcmark_fail(error, "put into", OBJECT, "the other process has closed its end", nullptr);
    return IPCMARK_PEER_GONE;
}

int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    const Locked locked;
    self.message.reset(PyObject_CallNoArgs(self.receive.get()));
    if (!self.message) {
        // In the middle of a message Python raises a different exception than at its end.
        const int result = python::fail(error, "get from", OBJECT);
        return has_event(self.reader, POLLHUP) ? IPCMARK_PEER_GONE : result;
    }
    // It comes from the other process.
    return python::is_message(self.message.get(), self.largest, message, len)
               ? IPCMARK_DONE
               : ipcmark_fail(error, "get from", OBJECT, "it has something else than a message", nullptr);
}

int release(void *end, const void *, ipcmark_error *) {
    auto &self = *static_cast<End *>(end);
    const Locked locked;
    self.message.reset();
    return IPCMARK_DONE;
}

// The definition ---------------------------------------------------------------------------------

ipcmark_transport describe() {
    auto transport = ipcmark::describe_transport("python-queue",
                                                 "multiprocessing.Queue of Python: pickled bytes through a pipe, by a "
                                                 "thread of the library",
                                                 IPCMARK_BLOCK, IPCMARK_IN_KERNEL);
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

const ipcmark_transport python_queue = describe();
