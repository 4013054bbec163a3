// The Python interpreter in this process, its objects, and its exceptions as errors of the contract.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <ipcmark/transport.h>

#include <initializer_list>
#include <memory>

namespace python {

struct Unref {
    void operator()(PyObject *object) const { Py_DECREF(object); }
};
using Object = std::unique_ptr<PyObject, Unref>;

// Starts the interpreter if necessary, and makes a Python module from its text, which others import by its name. The
// interpreter lives as long as the process, because Python cannot be restarted reliably. Afterwards the calling thread
// has its lock.
int start(Object *module, const char *name, const char *text, ipcmark_error *error);

// The result of `module.name(arguments...)`; null if it raised an exception.
Object call(PyObject *module, const char *name, std::initializer_list<PyObject *> arguments);

// Converts the raised exception to the error; the result is IPCMARK_PEER_GONE for exceptions that mean that the other
// process is gone. Prints nothing.
int fail(ipcmark_error *error, const char *operation, const char *object);

// True if an object from the other process is bytes of at most this size; then sets `message` and `len`.
bool is_message(PyObject *object, size_t largest, const void **message, size_t *len);

// A Python bytearray and its memory, which does not move.
class Buffer {
  public:
    Buffer() = default;
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    ~Buffer();

    // False if it raised an exception.
    bool make(size_t size);
    PyObject *get() const { return object.get(); }
    void *bytes() const { return view.buf; }

  private:
    Object object;
    Py_buffer view{};
};

} // namespace python
