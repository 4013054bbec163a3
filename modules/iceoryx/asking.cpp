#include "asking.hpp"

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include <iceoryx_hoofs/error_handling/error_handling.hpp>

#include <unistd.h>

namespace ipcmark {

namespace {

// What the thread of a call and its caller know of each other.
struct Call {
    std::promise<void> ended;
    std::atomic<const char *> failed{nullptr}; // The library's name of its error.
};

thread_local Call *current = nullptr;

struct Library : iox::ErrorHandler {
    using iox::ErrorHandler::reactOnErrorLevel;
};

// The library's errors return to code that cannot go on: in a thread of ours they end there, instead of
// ending the process.
void on_error(const iox::Error error, const std::function<void()> &also, const iox::ErrorLevel level) {
    if (current && level != iox::ErrorLevel::MODERATE) {
        current->failed.store(iox::ErrorHandler::toString(error));
        for (;;)
            pause();
    }
    if (also)
        also();
    Library::reactOnErrorLevel(level, iox::ErrorHandler::toString(error));
}

void handle_errors() {
    static const auto handled = iox::ErrorHandler::setTemporaryErrorHandler(on_error);
    static_cast<void>(handled);
}

void run(const std::shared_ptr<Call> &call, const std::function<void()> &body) {
    current = call.get();
    try {
        body();
        call->ended.set_value();
    } catch (...) {
        call->ended.set_exception(std::current_exception());
    }
    current = nullptr;
}

} // namespace

bool ask_daemon(std::function<void()> body, const std::function<bool()> &wanted, std::string &reason) {
    handle_errors();
    const auto call = std::make_shared<Call>();
    auto ended = call->ended.get_future();
    std::thread([call, body = std::move(body)] { run(call, body); }).detach();
    while (ended.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
        const char *failed = call->failed.load();
        reason = failed ? failed : "";
        if (failed || !wanted())
            return false;
    }
    ended.get();
    return true;
}

bool ask_daemon(std::function<void()> body, std::chrono::milliseconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    std::string reason;
    return ask_daemon(std::move(body), [deadline] { return std::chrono::steady_clock::now() < deadline; }, reason);
}

} // namespace ipcmark
