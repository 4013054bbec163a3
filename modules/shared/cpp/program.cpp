#include "shared/cpp/program.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ipcmark {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds ENDS_WITHIN{2000};
// The bytes of a program's output that an error repeats.
constexpr size_t TAIL = 300;
// The same status as the shell's.
constexpr int NO_SUCH_PROGRAM = 127;

std::string name_of(const std::string &variable) {
    return variable.substr(0, variable.find('='));
}

Texts environment_with(const Texts &more) {
    Texts all = more;
    for (char **variable = environ; *variable; variable++) {
        const auto is_same = [&](const std::string &set) { return name_of(set) == name_of(*variable); };
        if (std::none_of(more.begin(), more.end(), is_same))
            all.emplace_back(*variable);
    }
    return all;
}

std::vector<char *> pointers(const Texts &texts) {
    std::vector<char *> all;
    for (const auto &text : texts)
        all.push_back(const_cast<char *>(text.c_str()));
    all.push_back(nullptr);
    return all;
}

// The state that the child needs, prepared before the fork.
struct Image {
    char *const *words;
    char *const *variables;
    int output;
    int parents_death;
    pid_t parent;
    cpu_set_t processors;
};

// Runs between fork and exec, so it only calls async-signal-safe functions.
[[noreturn]] void become(const Image &image) {
    sched_setaffinity(0, sizeof image.processors, &image.processors);
    prctl(PR_SET_PDEATHSIG, image.parents_death);
    if (getppid() != image.parent)
        _exit(126);
    setpgid(0, 0);
    const int none = open("/dev/null", O_RDONLY);
    dup2(none, 0);
    dup2(image.output, 1);
    dup2(image.output, 2);
    signal(SIGPIPE, SIG_DFL);
    execvpe(image.words[0], image.words, image.variables);
    _exit(NO_SUCH_PROGRAM);
}

size_t count_of(const std::string &text, const char *mark) {
    size_t count = 0;
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1))
        count++;
    return count;
}

} // namespace

cpu_set_t usable_processors() {
    cpu_set_t usable;
    if (sched_getaffinity(getppid(), sizeof usable, &usable) != 0)
        sched_getaffinity(0, sizeof usable, &usable);
    return usable;
}

int find_program(const char *name, const char *remedy, ipcmark_error *error) {
    const char *const path = std::getenv("PATH");
    const std::string all = std::string(path ? path : "/usr/bin:/bin") + ":";
    for (size_t at = 0; at < all.size(); at = all.find(':', at) + 1)
        if (access((all.substr(at, all.find(':', at) - at) + "/" + name).c_str(), X_OK) == 0)
            return IPCMARK_DONE;
    return ipcmark_fail(error, "find", name, "there is no such program", remedy);
}

int Program::start(const Command &started, ipcmark_error *error) {
    command = started;
    int pipe[2];
    if (pipe2(pipe, O_CLOEXEC) != 0)
        return ipcmark_fail_errno(error, "make", "a pipe", errno, nullptr);
    printed = pipe[0];
    const int result = spawn(pipe[1], error);
    close(pipe[1]);
    return result;
}

int Program::spawn(int standard_output, ipcmark_error *error) {
    const auto words = pointers(command.words);
    const Texts texts = environment_with(command.variables);
    const auto variables = pointers(texts);
    const Image image{words.data(),          variables.data(), standard_output,
                      command.parents_death, getpid(),         usable_processors()};
    pid = fork();
    if (pid == 0)
        become(image);
    if (pid > 0)
        return IPCMARK_DONE;
    pid = 0;
    return ipcmark_fail_errno(error, "start", command.what.c_str(), errno, nullptr);
}

int Program::await(const char *mark, size_t times, const Deadline &deadline, const char *otherwise,
                   ipcmark_error *error) {
    std::string said;
    while (count_of(said, mark) < times) {
        pollfd ready{printed, POLLIN, 0};
        if (deadline.has_passed() || poll(&ready, 1, static_cast<int>(deadline.left().count())) == 0)
            return ipcmark_fail(error, "start", command.what.c_str(), deadline.missed(otherwise).c_str(), nullptr);
        char text[512];
        const ssize_t count = read(printed, text, sizeof text);
        if (count == 0)
            return fail_ended(said, error);
        if (count > 0)
            said.append(text, static_cast<size_t>(count));
    }
    return IPCMARK_DONE;
}

int Program::fail_ended(const std::string &said, ipcmark_error *error) {
    const int status = end(ENDS_WITHIN);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_SUCH_PROGRAM) {
        const std::string cause = "there is no program " + command.words[0];
        return ipcmark_fail(error, "start", command.what.c_str(), cause.c_str(), command.remedy);
    }
    const size_t tail = said.size() > TAIL ? said.size() - TAIL : 0;
    const std::string cause = "it ended: " + said.substr(tail);
    return ipcmark_fail(error, "start", command.what.c_str(), cause.c_str(), nullptr);
}

int Program::end(milliseconds by_itself) {
    int status = 0;
    const auto has_ended = [&] { return pid <= 0 || waitpid(pid, &status, WNOHANG) != 0; };
    if (!holds_within(by_itself, has_ended)) {
        kill(pid, SIGTERM);
        if (!holds_within(ENDS_WITHIN, has_ended)) {
            kill(-pid, SIGKILL);
            waitpid(pid, &status, 0);
        }
    }
    pid = 0;
    return status;
}

void Program::stop(milliseconds by_itself) {
    end(by_itself);
    if (printed >= 0)
        close(printed);
    printed = -1;
}

} // namespace ipcmark
