#include "shared/roudi/runtime.hpp"

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include <iceoryx_hoofs/error_handling/error_handling.hpp>
#include <iceoryx_hoofs/internal/relocatable_pointer/base_relative_pointer.hpp>
#include <iceoryx_hoofs/log/logmanager.hpp>
#include <iceoryx_posh/internal/runtime/posh_runtime_impl.hpp>

#include <unistd.h>

namespace ipcmark {

namespace {

using iox::RuntimeName_t;
using iox::runtime::PoshRuntime;

// Calls ------------------------------------------------------------------------------------------

// The state that the thread of a call shares with its caller.
struct Call {
    std::promise<void> ended;
    std::atomic<const char *> failed{nullptr}; // The library's name of its error.
};

thread_local Call *current_call = nullptr;

struct Library : iox::ErrorHandler {
    using iox::ErrorHandler::reactOnErrorLevel;
};

// After an error the library returns to code that cannot continue, or ends the process. Instead, the thread of a call
// stops here.
void on_error(const iox::Error error, const std::function<void()> &also, const iox::ErrorLevel level) {
    if (current_call && level != iox::ErrorLevel::MODERATE) {
        current_call->failed.store(iox::ErrorHandler::toString(error));
        for (;;)
            pause();
    }
    if (also)
        also();
    Library::reactOnErrorLevel(level, iox::ErrorHandler::toString(error));
}

// Once per process, because it lasts as long as the guard that the library returns.
void install_error_handler() {
    static const auto guard = iox::ErrorHandler::setTemporaryErrorHandler(on_error);
    static_cast<void>(guard);
}

void run(const std::shared_ptr<Call> &call, const std::function<void()> &body) {
    current_call = call.get();
    try {
        body();
        call->ended.set_value();
    } catch (...) {
        call->ended.set_exception(std::current_exception());
    }
    current_call = nullptr;
}

bool call_daemon_by(const Deadline &deadline, std::function<void()> body) {
    std::string reason;
    return call_daemon(std::move(body), [&] { return !deadline.has_passed(); }, reason);
}

// Registration -----------------------------------------------------------------------------------

// The library has one runtime per process and keeps it until the end. A worker opens many endpoints in turn, each with
// its own daemon, so a runtime is made and deleted with each endpoint: the library lets a class derived from its own
// define how a runtime is made.
class Runtime : public iox::runtime::PoshRuntimeImpl {
  public:
    explicit Runtime(const iox::cxx::optional<const RuntimeName_t *> &name) : PoshRuntimeImpl(name) {}

    // NOLINTNEXTLINE(performance-unnecessary-value-param): the library prescribes the type.
    static PoshRuntime &make(iox::cxx::optional<const RuntimeName_t *> name) {
        if (!current)
            current = new Runtime(name);
        return *current;
    }

    static void install() { setRuntimeFactory(make); }

    static Runtime *current;
};

Runtime *Runtime::current = nullptr;

} // namespace

bool call_daemon(std::function<void()> body, const std::function<bool()> &is_wanted, std::string &reason) {
    install_error_handler();
    const auto call = std::make_shared<Call>();
    auto ended = call->ended.get_future();
    std::thread([call, body = std::move(body)] { run(call, body); }).detach();
    while (ended.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
        const char *failed = call->failed.load();
        reason = failed ? failed : "";
        if (failed || !is_wanted())
            return false;
    }
    ended.get();
    return true;
}

void register_runtime(const std::string &name) {
    iox::log::LogManager::GetLogManager().SetDefaultLogLevel(iox::log::LogLevel::kOff,
                                                             iox::log::LogLevelOutput::kHideLogLevel);
    Runtime::install();
    PoshRuntime::initRuntime(RuntimeName_t(iox::cxx::TruncateToCapacity, name.c_str()));
}

bool open_runtime(const std::string &name, const Deadline &deadline) {
    return call_daemon_by(deadline, [name] { register_runtime(name); });
}

bool close_runtime() {
    auto *runtime = std::exchange(Runtime::current, nullptr);
    return call_daemon_by(Deadline(std::chrono::seconds(2)), [runtime] {
        delete runtime;
        // The segments of this daemon are unmapped; those of the next one have other addresses.
        iox::rp::BaseRelativePointer::unregisterAll();
    });
}

void abandon_runtime() {
    Runtime::current = nullptr;
}

std::string registration_name(const std::string &session, bool leads, uint32_t follower) {
    if (leads)
        return session + "-leader";
    return session + "-follower" + (follower ? "-" + std::to_string(follower) : "");
}

} // namespace ipcmark
