#include "interpreter.hpp"

#include "python/text.hpp"

#include <string>

#include <dlfcn.h>

namespace python {

namespace {

// Extension modules of Python look for the functions of its library among the global symbols, and a module of ipcmark
// is not loaded globally.
void make_library_global() {
    Dl_info library{};
    if (dladdr(reinterpret_cast<const void *>(&Py_InitializeFromConfig), &library) != 0)
        dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

// Isolated: without environment variables, the user's packages, signal handlers or the working directory.
PyStatus initialize() {
    PyConfig config;
    PyConfig_InitIsolatedConfig(&config);
    config.install_signal_handlers = 0;
    config.pathconfig_warnings = 0;
    config.write_bytecode = 0;
    PyStatus status = PyConfig_SetBytesString(&config, &config.program_name, PROGRAM);
    if (PyStatus_Exception(status) == 0)
        status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    return status;
}

std::string text_of(PyObject *object) {
    const Object text(object ? PyObject_Str(object) : nullptr);
    const char *const bytes = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    PyErr_Clear();
    return bytes ? bytes : "";
}

bool means_gone(PyObject *type) {
    for (PyObject *const gone : {PyExc_EOFError, PyExc_BrokenPipeError, PyExc_ConnectionResetError})
        if (PyErr_GivenExceptionMatches(type, gone) != 0)
            return true;
    return false;
}

int start_interpreter(ipcmark_error *error) {
    if (Py_IsInitialized() != 0) {
        // An open endpoint may have released the lock.
        if (PyGILState_Check() == 0)
            PyEval_RestoreThread(PyGILState_GetThisThreadState());
        return IPCMARK_DONE;
    }
    make_library_global();
    const PyStatus status = initialize();
    if (PyStatus_Exception(status) == 0)
        return IPCMARK_DONE;
    return ipcmark_fail(error, "start", "the interpreter of Python", status.err_msg ? status.err_msg : "it has ended",
                        "apt install libpython3-stdlib");
}

} // namespace

int start(Object *module, const char *name, const char *text, ipcmark_error *error) {
    if (const int result = start_interpreter(error))
        return result;
    const Object code(Py_CompileString(text, name, Py_file_input));
    module->reset(code ? PyImport_ExecCodeModule(name, code.get()) : nullptr);
    return *module ? IPCMARK_DONE : fail(error, "load", "a module of Python");
}

Object call(PyObject *module, const char *name, std::initializer_list<PyObject *> arguments) {
    const Object function(PyObject_GetAttrString(module, name));
    return Object(function ? PyObject_Vectorcall(function.get(), arguments.begin(), arguments.size(), nullptr)
                           : nullptr);
}

int fail(ipcmark_error *error, const char *operation, const char *object) {
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    const Object kind(type), exception(value), stack(trace);
    if (!kind)
        return ipcmark_fail(error, operation, object, "Python raised no exception", nullptr);
    const std::string name = reinterpret_cast<PyTypeObject *>(type)->tp_name, text = text_of(value);
    const std::string cause = text.empty() ? name : name + ": " + text;
    ipcmark_fail(error, operation, object, cause.c_str(), nullptr);
    return means_gone(type) ? IPCMARK_PEER_GONE : IPCMARK_FAILED;
}

bool Buffer::make(size_t size) {
    object.reset(PyByteArray_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
    if (!object || PyObject_GetBuffer(object.get(), &view, PyBUF_WRITABLE) != 0)
        return false;
    ipcmark_touch(view.buf, size);
    return true;
}

bool is_message(PyObject *object, size_t largest, const void **message, size_t *len) {
    if (!PyBytes_Check(object) || static_cast<size_t>(PyBytes_GET_SIZE(object)) > largest)
        return false;
    *message = PyBytes_AS_STRING(object);
    *len = static_cast<size_t>(PyBytes_GET_SIZE(object));
    return true;
}

Buffer::~Buffer() {
    PyBuffer_Release(&view);
}

} // namespace python
