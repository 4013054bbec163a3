// A message before it is sent: written in a bytearray, and sent by a Python callable that receives its length.
#pragma once

#include "interpreter.hpp"

namespace python {

class Outgoing {
  public:
    // False if it raised an exception.
    bool make(size_t largest) { return bytes.make(largest); }

    // The bytearray, for the sending code.
    PyObject *room() const { return bytes.get(); }

    // The sending callable: returns Python's true if it could send, and no object if it raised an exception.
    void set_sender(PyObject *callable) { sender.reset(callable); }

    void *lend(size_t wanted) {
        len = wanted;
        return bytes.bytes();
    }

    Object send() const {
        const Object number(PyLong_FromSize_t(len));
        return Object(PyObject_CallOneArg(sender.get(), number.get()));
    }

  private:
    Buffer bytes;
    Object sender;
    size_t len = 0;
};

} // namespace python
