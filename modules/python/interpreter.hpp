// The interpreter of Python in this process, its objects, and its exceptions as errors of the contract.
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

// Starts the interpreter where that was not done yet, and makes a module of Python from its text, which others import
// by its name. The interpreter lives as long as the process: Python cannot start twice well. The calling thread has
// its lock then.
int start(Object *module, const char *name, const char *text, ipcmark_error *error);

// What `module.name(arguments...)` returns; nothing if it raised an exception.
Object call(PyObject *module, const char *name, std::initializer_list<PyObject *> arguments);

// Makes the exception that was raised the error, and IPCMARK_PEER_GONE of those that Python raises where the other
// process is gone. Nothing is printed.
int fail(ipcmark_error *error, const char *operation, const char *object);

// Whether an object that the other process made is bytes of at most so many, which `message` and `len` are then.
bool is_message(PyObject *object, size_t largest, const void **message, size_t *len);

// A bytearray of Python with its memory, which does not move.
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
