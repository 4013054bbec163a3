// Semaphores of multiprocessing shared by both processes, without names.
//
// A process that multiprocessing forks inherits the memory of a semaphore whose name is removed. Here that memory is
// passed as a descriptor, so that no name survives a killed process. Python calls sem_close() for each when it is
// collected; glibc rejects an address that sem_open() did not return, and does nothing.
#pragma once

#include "interpreter.hpp"
#include "python/text.hpp"

#include "shared/cpp/descriptors.hpp"

#include <cerrno>
#include <initializer_list>

#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

namespace python {

// The same as start(), for a module that imports ipcmark_semaphores.
inline int start_with_semaphores(Object *module, const char *name, const char *text, ipcmark_error *error) {
    Object semaphores;
    const int result = start(&semaphores, "ipcmark_semaphores", SEMAPHORES_TEXT, error);
    return result ? result : start(module, name, text, error);
}

class Semaphores {
  public:
    Semaphores() = default;
    Semaphores(const Semaphores &) = delete;
    Semaphores &operator=(const Semaphores &) = delete;
    ~Semaphores() {
        if (cells)
            munmap(cells, BYTES);
    }

    // The leader makes a semaphore with each of the values, 32 at most; the follower receives them.
    int open(bool leads, std::initializer_list<unsigned> values, ipcmark_session *session, ipcmark_error *error) {
        return leads ? lead(values, session, error) : follow(session, error);
    }

    // The address of one of them, as a Python number.
    Object address(size_t index) const { return Object(PyLong_FromVoidPtr(&cells[index].semaphore)); }

  private:
    // Alone in a pair of cache lines, because processors prefetch pairs.
    struct alignas(128) Cell {
        sem_t semaphore;
    };
    static constexpr size_t BYTES = 4096;
    static constexpr const char *OBJECT = "the semaphores of multiprocessing";

    int lead(std::initializer_list<unsigned> values, ipcmark_session *session, ipcmark_error *error) {
        // ipcmark knows this name, and does not mistake the semaphores for the carrier of the messages.
        const int memory = memfd_create("ipcmark-pair", MFD_CLOEXEC);
        if (memory < 0 || ftruncate(memory, BYTES) != 0) {
            const int number = errno;
            if (memory >= 0)
                close(memory);
            return ipcmark_fail_errno(error, "make", OBJECT, number, nullptr);
        }
        int result = map(memory, error);
        size_t index = 0;
        for (const unsigned value : values)
            if (result == IPCMARK_DONE)
                sem_init(&cells[index++].semaphore, 1, value);
        if (result == IPCMARK_DONE)
            result = session->send(session, 0, "sems", 4, &memory, 1, error);
        close(memory);
        return result;
    }

    int follow(ipcmark_session *session, ipcmark_error *error) {
        int memory[1];
        if (const int result =
                ipcmark::receive_descriptors(session, memory, "open", OBJECT, "the leader sent none", error))
            return result;
        const int result = map(memory[0], error);
        close(memory[0]);
        return result;
    }

    int map(int memory, ipcmark_error *error) {
        void *mapped = mmap(nullptr, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, memory, 0);
        if (mapped == MAP_FAILED)
            return ipcmark_fail_errno(error, "map", OBJECT, errno, nullptr);
        cells = static_cast<Cell *>(mapped);
        return IPCMARK_DONE;
    }

    Cell *cells = nullptr;
};

} // namespace python
