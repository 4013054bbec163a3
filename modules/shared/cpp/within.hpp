// Time limits for a library that may wait forever.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include <cstdlib>
#include <unistd.h>

namespace ipcmark {

// The time limit for a library's endpoints to find each other, even on a busy machine: less than the ten seconds after
// which a session ends without an error from the library.
constexpr std::chrono::seconds CONNECTED_WITHIN{8};

// True once the condition holds, which is checked every millisecond; false after the limit.
template <typename Condition> bool holds_within(std::chrono::milliseconds limit, Condition holds) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > deadline)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

// Runs the work in its own thread; true if it ended in time. If not, the thread is abandoned with everything that the
// work owns.
template <typename Work> bool done_within(std::chrono::milliseconds limit, Work work) {
    auto promise = std::make_shared<std::promise<void>>();
    auto done = promise->get_future();
    std::thread worker([work = std::move(work), promise]() mutable {
        work();
        promise->set_value();
    });
    const bool in_time = done.wait_for(limit) == std::future_status::ready;
    // Joined, so that no thread outlives its work, not even by a moment.
    if (in_time)
        worker.join();
    else
        worker.detach();
    return in_time;
}

// Ends this process later without the library's destructors, which would wait for abandoned work.
inline void end_without_destructors() {
    on_exit([](int status, void *) { _exit(status); }, nullptr);
}

} // namespace ipcmark
