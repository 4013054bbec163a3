#include "runtime.hpp"

#include "asking.hpp"

#include <chrono>
#include <utility>

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

constexpr uint32_t MOST_FOLLOWERS = 16;

void remove_socket(const std::string &registration) {
    const std::string socket = "/tmp/" + registration;
    unlink(socket.c_str());
    unlink((socket + ".lock").c_str());
}

} // namespace

void register_runtime(const std::string &name) {
    iox::log::LogManager::GetLogManager().SetDefaultLogLevel(iox::log::LogLevel::kOff,
                                                             iox::log::LogLevelOutput::kHideLogLevel);
    Runtime::install();
    PoshRuntime::initRuntime(RuntimeName_t(iox::cxx::TruncateToCapacity, name.c_str()));
}

bool open_runtime(const std::string &name) {
    return ask_daemon([name] { register_runtime(name); }, std::chrono::seconds(8));
}

bool close_runtime() {
    auto *runtime = std::exchange(Runtime::current, nullptr);
    return ask_daemon(
        [runtime] {
            delete runtime;
            // The segments of this daemon are unmapped; the next one's have other places.
            iox::rp::BaseRelativePointer::unregisterAll();
        },
        std::chrono::seconds(2));
}

std::string registration_name(const std::string &session, bool leads, uint32_t follower) {
    if (leads)
        return session + "-leader";
    return session + "-follower" + (follower ? "-" + std::to_string(follower) : "");
}

void remove_registration(const std::string &session) {
    remove_socket(registration_name(session, true));
    for (uint32_t follower = 0; follower < MOST_FOLLOWERS; follower++)
        remove_socket(registration_name(session, false, follower));
}

void abandon_runtime() {
    Runtime::current = nullptr;
}

} // namespace ipcmark
