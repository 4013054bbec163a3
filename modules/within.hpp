// Work of a library that may wait without end.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include <cstdlib>
#include <unistd.h>

namespace ipcmark {

// Does the work in a thread of its own; whether it was done in time. If not, the thread is abandoned
// with whatever the work owns.
template <typename Work> bool done_within(std::chrono::milliseconds limit, Work work) {
    auto worked = std::make_shared<std::promise<void>>();
    auto done = worked->get_future();
    std::thread worker([work = std::move(work), worked]() mutable {
        work();
        worked->set_value();
    });
    const bool in_time = done.wait_for(limit) == std::future_status::ready;
    // What is done leaves no thread behind, not even one that is about to end.
    if (in_time)
        worker.join();
    else
        worker.detach();
    return in_time;
}

// Lets this process end without the library's destructors, which would wait for what was abandoned.
inline void end_without_destructors() {
    on_exit([](int status, void *) { _exit(status); }, nullptr);
}

} // namespace ipcmark
