#include "runtime.hpp"

#include <chrono>
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

// The library has one runtime a process and keeps it to the end. A worker opens many ends, one after
// the other and each with a daemon of its own, so ours is made and unmade with each: the library
// lets a class of its family say how a runtime is made.
class Runtime : public iox::runtime::PoshRuntimeImpl {
  public:
    explicit Runtime(iox::cxx::optional<const RuntimeName_t *> name) : PoshRuntimeImpl(name) {}

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

void open_runtime(const std::string &name) {
    iox::log::LogManager::GetLogManager().SetDefaultLogLevel(iox::log::LogLevel::kOff,
                                                             iox::log::LogLevelOutput::kHideLogLevel);
    Runtime::install();
    PoshRuntime::initRuntime(RuntimeName_t(iox::cxx::TruncateToCapacity, name.c_str()));
}

bool close_runtime() {
    auto *runtime = std::exchange(Runtime::current, nullptr);
    auto closed = std::make_shared<std::promise<void>>();
    auto done = closed->get_future();
    // The library waits for the daemon's answer without end, so it waits in a thread of its own.
    std::thread([runtime, closed] {
        delete runtime;
        // The segments of this daemon are unmapped; the next one's have other places.
        iox::rp::BaseRelativePointer::unregisterAll();
        closed->set_value();
    }).detach();
    return done.wait_for(std::chrono::seconds(2)) == std::future_status::ready;
}

std::string registration_name(const std::string &session, bool leads) {
    return session + (leads ? "-leader" : "-follower");
}

void remove_registration(const std::string &session) {
    for (bool leads : {true, false}) {
        const std::string socket = "/tmp/" + registration_name(session, leads);
        unlink(socket.c_str());
        unlink((socket + ".lock").c_str());
    }
}

void abandon_runtime() {
    Runtime::current = nullptr;
}

} // namespace ipcmark
