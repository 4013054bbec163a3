#include "driver.hpp"

#include "shared/cpp/environment.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <system_error>

#include <aeronc.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern "C" const char ipcmark_aeronmd[], ipcmark_aeronmd_end[];

namespace aeron {

namespace {

constexpr const char *OBJECT = "Aeron's media driver", *PREFIX = "AERON_";
constexpr std::chrono::milliseconds ENDED_WITHIN{2000};

// Writes the program to an anonymous file in memory.
int write_program(int *file, ipcmark_error *error) {
    *file = memfd_create("aeronmd", MFD_CLOEXEC);
    const char *at = ipcmark_aeronmd;
    while (*file >= 0 && at < ipcmark_aeronmd_end) {
        const ssize_t count = write(*file, at, static_cast<size_t>(ipcmark_aeronmd_end - at));
        if (count < 0 && errno != EINTR)
            break;
        at += std::max<ssize_t>(count, 0);
    }
    return at == ipcmark_aeronmd_end ? IPCMARK_DONE : ipcmark_fail_errno(error, "write", OBJECT, errno, nullptr);
}

// The context reads the environment once, when it is made.
int make_context(const ipcmark::Texts &variables, aeron_driver_context_t **context) {
    for (const auto &variable : variables) {
        const auto at = variable.find('=');
        setenv(variable.substr(0, at).c_str(), variable.substr(at + 1).c_str(), 1);
    }
    const int result = aeron_driver_context_init(context);
    ipcmark::forget_variables_of(PREFIX);
    return result;
}

} // namespace

// The program reads this file before it applies its affinity, also if it has none to apply.
int find_processors(ipcmark_error *error) {
    constexpr const char *ONLINE = "/sys/devices/system/cpu/online";
    if (access(ONLINE, R_OK) == 0)
        return IPCMARK_DONE;
    return ipcmark_fail_errno(error, "read", ONLINE, errno,
                              "mount -t sysfs sysfs /sys, which Aeron's media driver reads");
}

std::string place_in(const std::string &directory) {
    return directory + "/driver";
}

int fail(ipcmark_error *error, const char *operation, const char *object) {
    return ipcmark_fail(error, operation, object, aeron_errmsg(), nullptr);
}

// The driver has nothing to flush, and its files are removed here.
Driver::~Driver() {
    if (program.id() > 0)
        kill(program.id(), SIGKILL);
    program.stop(ENDED_WITHIN);
    if (threads)
        aeron_driver_close(threads);
    if (context)
        aeron_driver_context_close(context);
    if (image >= 0)
        close(image);
    std::error_code ignored;
    if (!directory.empty())
        std::filesystem::remove_all(directory, ignored);
}

int Driver::start(const DriverSettings &settings, const ipcmark::Deadline &deadline, ipcmark_error *error) {
    ipcmark::forget_variables_of(PREFIX);
    // A directory made by the driver would be open to every user.
    if (mkdir(settings.directory.c_str(), 0700) != 0)
        return ipcmark_fail_errno(error, "create", settings.directory.c_str(), errno, nullptr);
    directory = settings.directory;
    DriverSettings all = settings;
    all.variables.push_back("AERON_DIR=" + place_in(directory));
    return settings.is_process ? start_process(all, deadline, error) : start_threads(all, error);
}

int Driver::start_process(const DriverSettings &settings, const ipcmark::Deadline &deadline, ipcmark_error *error) {
    if (const int result = write_program(&image, error))
        return result;
    const std::string path = "/proc/self/fd/" + std::to_string(image);
    const char *const remedy = "--set aeron-ipc.driver=embedded, where programs in memory are forbidden";
    const int result = program.start({OBJECT, {path}, settings.variables, SIGKILL, remedy}, error);
    return result == IPCMARK_DONE ? await_process(deadline, error) : result;
}

int Driver::await_process(const ipcmark::Deadline &deadline, ipcmark_error *error) {
    const auto is_ready = [&] {
        return has_ended() || aeron_is_driver_active(place_in(directory).c_str(), 1000, [](const char *) {});
    };
    if (!ipcmark::holds_by(deadline, is_ready))
        return ipcmark_fail(error, "start", OBJECT, deadline.missed("it does not get ready").c_str(), nullptr);
    // For a program that has ended, `await` reports its last output.
    const ipcmark::Deadline last(ENDED_WITHIN);
    return has_ended() ? program.await("no such words", 1, last, "it does not end", error) : IPCMARK_DONE;
}

bool Driver::has_ended() const {
    pollfd hang_up{program.output(), 0, 0};
    return program.id() > 0 && poll(&hang_up, 1, 0) > 0;
}

int Driver::check(ipcmark_error *error) const {
    return has_ended() ? ipcmark_fail(error, "reach", OBJECT, "it has ended", nullptr) : IPCMARK_DONE;
}

int Driver::start_threads(const DriverSettings &settings, ipcmark_error *error) {
    const bool is_running = make_context(settings.variables, &context) == 0 &&
                            aeron_driver_init(&threads, context) == 0 && aeron_driver_start(threads, false) == 0;
    return is_running ? IPCMARK_DONE : fail(error, "start", OBJECT);
}

} // namespace aeron
