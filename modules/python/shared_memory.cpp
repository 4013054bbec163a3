// python-shared-memory: multiprocessing.shared_memory of Python with its semaphores, with an interpreter in each
// process.
//
// - Mechanism: one SharedMemory with a slot for each direction, and a pair of Semaphores for each slot: empty and full.
// - Kernel objects: a POSIX shared memory object, whose name is removed once both ends have mapped it; futexes of the
//   semaphores, in memory without a name.
// - Copies a message: one, by assignment to a slice of the memory. The payload is written in a bytearray, and read in
//   the slot.
// - Blocks: in acquire() of a semaphore, a tenth of a second at a time, which Python calls without its lock.
// - Spins: with acquire(False).
// - Limits: one message per direction.
#include "interpreter.hpp"
#include "outgoing.hpp"
#include "peer.hpp"
#include "python.hpp"
#include "python/text.hpp"
#include "semaphores.hpp"

#include "shared/c/space.h"
#include "shared/cpp/description.hpp"

#include <memory>
#include <string>

namespace {

using python::Object;

constexpr const char *OBJECT = "a SharedMemory of multiprocessing";

// The same as in shared_memory.py.
constexpr size_t HEAD = 64;

struct End {
    python::Semaphores semaphores;
    Object memory, receive, release;
    python::Outgoing outgoing;
    Py_buffer view{}; // The memory.
    const unsigned char *message = nullptr;
    size_t largest = 0;
    python::Peer peer;

    End() = default;
    End(const End &) = delete;
    End &operator=(const End &) = delete;
    ~End();
};

End::~End() {
    PyBuffer_Release(&view);
    const Object closed(memory ? PyObject_CallMethod(memory.get(), "close", nullptr) : nullptr);
    PyErr_Clear();
}

// Set-up and teardown ----------------------------------------------------------------------------

int load_script(Object *script, ipcmark_error *error) {
    return python::start_with_semaphores(script, "ipcmark_shared_memory", python::SHARED_MEMORY_TEXT, error);
}

int probe(const ipcmark_transport *, ipcmark_error *error) {
    Object script;
    return load_script(&script, error);
}

size_t slot_size(uint64_t payload) {
    return HEAD + (payload + 63) / 64 * 64;
}

std::string name_of(const ipcmark_settings &settings) {
    return std::string(settings.name) + "-memory";
}

// Touches every page before the first message.
int map(End &end, const ipcmark_settings &settings, ipcmark_error *error) {
    const Object bytes(end.memory ? PyObject_GetAttrString(end.memory.get(), "buf") : nullptr);
    if (!bytes || PyObject_GetBuffer(bytes.get(), &end.view, PyBUF_WRITABLE) != 0)
        return python::fail(error, "map", OBJECT);
    if (static_cast<size_t>(end.view.len) < 2 * slot_size(settings.payload))
        return ipcmark_fail(error, "map", OBJECT, "it is too small", nullptr);
    ipcmark_touch(end.view.buf, 2 * slot_size(settings.payload));
    return IPCMARK_DONE;
}

// The leader makes the memory before the follower has the semaphores, and removes its name once both have mapped it.
int share(End &end, PyObject *script, const ipcmark_settings &settings, ipcmark_session *session,
          ipcmark_error *error) {
    const bool leads = settings.role == IPCMARK_LEADER;
    const Object name(PyUnicode_FromString(name_of(settings).c_str()));
    const Object size(PyLong_FromSize_t(2 * slot_size(settings.payload)));
    if (leads) {
        end.memory = python::call(script, "make", {name.get(), size.get()});
        if (const int result = map(end, settings, error))
            return result;
    }
    if (const int result = end.semaphores.open(leads, {1, 0, 1, 0}, session, error))
        return result;
    if (!leads) {
        end.memory = python::call(script, "attach", {name.get()});
        if (const int result = map(end, settings, error))
            return result;
    }
    if (const int result = end.peer.open(settings, session, error))
        return result;
    return session->meet(session, error);
}

void remove_name(End &end) {
    const Object removed(end.memory ? PyObject_CallMethod(end.memory.get(), "unlink", nullptr) : nullptr);
    PyErr_Clear();
}

int prepare(End &end, PyObject *script, const ipcmark_settings &settings, ipcmark_error *error) {
    const bool leads = settings.role == IPCMARK_LEADER;
    const size_t out = leads ? 0 : slot_size(settings.payload), in = leads ? slot_size(settings.payload) : 0;
    const size_t first = leads ? 0 : 2, second = leads ? 2 : 0;
    const auto address = [&](size_t index) { return end.semaphores.address(index).release(); };
    const Object slots(Py_BuildValue("(nn)", static_cast<Py_ssize_t>(out), static_cast<Py_ssize_t>(in)));
    const Object semaphores(
        Py_BuildValue("(NNNN)", address(first), address(first + 1), address(second), address(second + 1)));
    if (!slots || !semaphores || !end.outgoing.make(settings.payload))
        return python::fail(error, "prepare", OBJECT);
    const Object three = python::call(script, "functions",
                                      {end.memory.get(), end.outgoing.room(), slots.get(), semaphores.get(),
                                       settings.wait == IPCMARK_SPIN ? Py_True : Py_False});
    if (!three)
        return python::fail(error, "prepare", OBJECT);
    end.outgoing.set_sender(PySequence_GetItem(three.get(), 0));
    end.receive.reset(PySequence_GetItem(three.get(), 1));
    end.release.reset(PySequence_GetItem(three.get(), 2));
    end.message = static_cast<const unsigned char *>(end.view.buf) + in + HEAD;
    return IPCMARK_DONE;
}

int open_end(const ipcmark_transport *, const ipcmark_settings *settings, ipcmark_session *session, void **opened,
             ipcmark_error *error) {
    if (const int result = ipcmark_check_space(2 * slot_size(settings->payload), error))
        return result;
    Object script;
    if (const int result = load_script(&script, error))
        return result;
    auto end = std::make_unique<End>();
    end->largest = settings->payload;
    int result = share(*end, script.get(), *settings, session, error);
    if (settings->role == IPCMARK_LEADER)
        remove_name(*end);
    if (result == IPCMARK_DONE)
        result = prepare(*end, script.get(), *settings, error);
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
    *room = static_cast<End *>(end)->outgoing.lend(len);
    return IPCMARK_DONE;
}

int publish(void *end, void *, size_t, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    const Object sent = self.outgoing.send();
    if (!sent)
        return python::fail(error, "write to", OBJECT);
    return sent.get() == Py_True ? IPCMARK_DONE : self.peer.not_yet(error, "write to", OBJECT);
}

int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    const Object received(PyObject_CallNoArgs(self.receive.get()));
    if (!received)
        return python::fail(error, "read", OBJECT);
    if (received.get() == Py_None)
        return self.peer.not_yet(error, "read", OBJECT);
    *len = PyLong_AsSize_t(received.get());
    // It comes from the other process.
    if (*len > self.largest)
        return ipcmark_fail(error, "read", OBJECT, "its length is corrupt", nullptr);
    *message = self.message;
    return IPCMARK_DONE;
}

int release(void *end, const void *, ipcmark_error *error) {
    const Object released(PyObject_CallNoArgs(static_cast<End *>(end)->release.get()));
    return released ? IPCMARK_DONE : python::fail(error, "give back", OBJECT);
}

// The definition ---------------------------------------------------------------------------------

ipcmark_transport describe() {
    auto transport =
        ipcmark::describe_transport("python-shared-memory", "SharedMemory and Semaphores of Python: a copy into a slot",
                                    IPCMARK_SPIN | IPCMARK_BLOCK, IPCMARK_IN_MEMORY);
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

const ipcmark_transport python_shared_memory = describe();
