// Semaphores of multiprocessing shared by both processes, without names.
//
// A process that multiprocessing forks inherits the memory of a semaphore whose name is removed. Here that memory is
// passed as a descriptor, so that no name survives a killed process. Python calls sem_close() for each when it is
// collected; glibc rejects an address that sem_open() did not return, and does nothing.
#pragma once

#include "interpreter.hpp"
#include "python/text.hpp"

#include "shared/cpp/counters.hpp"
#include "shared/cpp/descriptors.hpp"

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
            munmap(cells, sizeof *cells);
    }

    // The leader makes a semaphore with each of the values, 32 at most; the follower receives them.
    int open(bool leads, std::initializer_list<unsigned> values, ipcmark_session *session, ipcmark_error *error) {
        return leads ? lead(values, session, error) : follow(session, error);
    }

    // The address of one of them, as a Python number.
    Object address(size_t index) const { return Object(PyLong_FromVoidPtr(&cells->of[index].semaphore)); }

  private:
    // Alone in a pair of cache lines, because processors prefetch pairs.
    struct alignas(128) Cell {
        sem_t semaphore;
    };
    struct Cells {
        Cell of[32];
    };
    static constexpr const char *OBJECT = "the semaphores of multiprocessing";

    int lead(std::initializer_list<unsigned> values, ipcmark_session *session, ipcmark_error *error) {
        int memory = -1;
        if (const int result = ipcmark::make_counters(sizeof *cells, OBJECT, &memory, error))
            return result;
        int result = ipcmark::map_counters(memory, OBJECT, &cells, error);
        size_t index = 0;
        for (const unsigned value : values)
            if (result == IPCMARK_DONE)
                sem_init(&cells->of[index++].semaphore, 1, value);
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
        const int result = ipcmark::map_counters(memory[0], OBJECT, &cells, error);
        close(memory[0]);
        return result;
    }

    Cells *cells = nullptr;
};

} // namespace python
