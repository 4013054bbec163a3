// Time limits for a library that may wait forever.
#pragma once

#include <ipcmark/transport.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <unistd.h>

namespace ipcmark {

// The end of a time limit. An endpoint makes one when it opens, so that all its waits for other endpoints share the
// session's limit.
class Deadline {
  public:
    using Clock = std::chrono::steady_clock;

    explicit Deadline(const ipcmark_settings &settings) : Deadline(std::chrono::nanoseconds(settings.connect_ns)) {}
    explicit Deadline(std::chrono::nanoseconds limit) : limit(limit), end(Clock::now() + limit) {}

    bool has_passed() const { return Clock::now() > end; }

    // The time that is left, for a library. Not zero, which can mean that there is no limit.
    std::chrono::milliseconds left() const {
        const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
        return std::max(rest, std::chrono::milliseconds(1));
    }

    // The cause of an error, with the whole limit: "it does not answer within 8 s".
    std::string missed(const std::string &what) const {
        char text[32];
        std::snprintf(text, sizeof text, " within %g s", std::chrono::duration<double>(limit).count());
        return what + text;
    }

  private:
    std::chrono::nanoseconds limit;
    Clock::time_point end;
};

// True once the condition holds, which is checked every millisecond; false after the deadline.
template <typename Condition> bool holds_by(const Deadline &deadline, Condition holds) {
    while (!holds()) {
        if (deadline.has_passed())
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

// The same, after a limit from now on.
template <typename Condition> bool holds_within(std::chrono::milliseconds limit, Condition holds) {
    return holds_by(Deadline(limit), holds);
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
