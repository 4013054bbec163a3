#include "shared/mpi/launcher.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ipcmark::mpi {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds READY_WITHIN{8000};
constexpr milliseconds ENDS_WITHIN{2000};

// Says that a rank has written its file.
constexpr const char *MARK = "ipcmark-rank";

// Run by /bin/sh with the directory as $1. The file has its name only once it is whole.
constexpr const char *AGENT = "n=${PMIX_RANK:-${PMI_RANK:-$PMI_ID}}; exec 3<\"$1/hold\" && "
                              "env -0 >\"$1/new-$n\" && mv \"$1/new-$n\" \"$1/rank-$n\" && "
                              "echo ipcmark-rank && exec cat <&3";

// How the variables begin by which launchers speak to ranks and ranks are configured.
constexpr const char *PREFIXES[] = {"PMI", "OMPI_", "ORTE_", "PRTE_", "MPI_LOCAL", "MPIR_CVAR_", "HYDRA_", "MPIEXEC_"};
// A descriptor of the agent's.
constexpr const char *AGENTS_OWN = "HYDI_CONTROL_FD";

// Parts of names that say where a library finds code to load, or files that may say so. No launcher sets such.
constexpr const char *LOADS[] = {"component_path", "param_file", "mca_base", "_LIBDIR", "_PREFIX", "_path"};
// A process's environment is smaller.
constexpr size_t MOST_BYTES = 1 << 20;

bool is_launchers(const std::string &variable) {
    const auto begins = [&](const char *prefix) { return variable.rfind(prefix, 0) == 0; };
    return std::any_of(std::begin(PREFIXES), std::end(PREFIXES), begins);
}

// Whether a variable may be taken over from the other process, which is not to choose what this one loads.
bool is_harmless(const std::string &variable) {
    const std::string name = variable.substr(0, variable.find('='));
    const auto has = [&](const char *part) { return name.find(part) != std::string::npos; };
    return is_launchers(variable) && std::none_of(std::begin(LOADS), std::end(LOADS), has);
}

void set(const std::string &variable) {
    const size_t at = variable.find('=');
    if (at != std::string::npos)
        setenv(variable.substr(0, at).c_str(), variable.c_str() + at + 1, 1);
}

// The current environment without another launcher's variables, and with these.
Variables environment_with(const Variables &more) {
    Variables all;
    for (char **variable = environ; *variable; variable++)
        if (!is_launchers(*variable))
            all.emplace_back(*variable);
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

std::vector<char *> pointers(const Variables &texts) {
    std::vector<char *> all;
    for (const auto &text : texts)
        all.push_back(const_cast<char *>(text.c_str()));
    all.push_back(nullptr);
    return all;
}

// Runs between fork and exec, so it only calls what is async-signal-safe.
[[noreturn]] void become_launcher(char *const *words, char *const *variables, int output, pid_t parent,
                                  const cpu_set_t &usable) {
    // This thread is pinned. If the launcher was too, a rank that polls would keep it from its processor, and wait.
    sched_setaffinity(0, sizeof usable, &usable);
    // It ends its ranks and removes its files at this signal.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(126);
    setpgid(0, 0);
    const int none = open("/dev/null", O_RDONLY);
    dup2(none, 0);
    dup2(output, 1);
    dup2(output, 2);
    signal(SIGPIPE, SIG_DFL);
    execvpe(words[0], words, variables);
    _exit(127);
}

size_t count_of(const std::string &text, const char *mark) {
    size_t count = 0;
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1))
        count++;
    return count;
}

} // namespace

void forget_launchers() {
    Variables names;
    for (char **variable = environ; *variable; variable++)
        if (is_launchers(*variable))
            names.emplace_back(*variable, strcspn(*variable, "="));
    for (const auto &name : names)
        unsetenv(name.c_str());
    unsetenv(AGENTS_OWN);
}

int take_over(int environment, ipcmark_error *error) {
    std::string all;
    char part[4096];
    ssize_t count = 0;
    while (all.size() < MOST_BYTES && (count = read(environment, part, sizeof part)) > 0)
        all.append(part, static_cast<size_t>(count));
    if (count < 0)
        return ipcmark_fail_errno(error, "read", "the environment of a rank", errno, nullptr);
    for (size_t at = 0; at < all.size(); at = all.find('\0', at) + 1) {
        const std::string variable = all.c_str() + at;
        if (is_harmless(variable))
            set(variable);
        if (all.find('\0', at) == std::string::npos)
            break;
    }
    return IPCMARK_DONE;
}

int Launcher::start(const Library &started, const char *in, uint32_t ranks, ipcmark_error *error) {
    library = &started;
    directory = in;
    int pipe[2];
    if (pipe2(pipe, O_CLOEXEC) != 0)
        return ipcmark_fail_errno(error, "make", "a pipe", errno, nullptr);
    output = pipe[0];
    mkdir(own_files().c_str(), 0700);
    int result = make_hold(error);
    if (result == IPCMARK_DONE)
        result = spawn(ranks, pipe[1], error);
    close(pipe[1]);
    if (result == IPCMARK_DONE)
        result = await_ranks(ranks, error);
    unlink((directory + "/hold").c_str());
    if (result != IPCMARK_DONE)
        stop();
    return result;
}

int Launcher::make_hold(ipcmark_error *error) {
    const std::string path = directory + "/hold";
    if (mkfifo(path.c_str(), 0600) != 0)
        return ipcmark_fail_errno(error, "make", path.c_str(), errno, nullptr);
    hold = open(path.c_str(), O_RDWR | O_CLOEXEC);
    return hold >= 0 ? IPCMARK_DONE : ipcmark_fail_errno(error, "open", path.c_str(), errno, nullptr);
}

int Launcher::spawn(uint32_t ranks, int standard_output, ipcmark_error *error) {
    Variables words(library->launcher.begin(), library->launcher.end());
    for (const std::string &word : {std::to_string(ranks), std::string("/bin/sh"), std::string("-c"),
                                    std::string(AGENT), std::string(MARK), directory})
        words.push_back(word);
    Variables variables = library->launcher_variables;
    variables.push_back("TMPDIR=" + own_files());
    variables = environment_with(variables);
    const auto word_pointers = pointers(words), variable_pointers = pointers(variables);
    const pid_t parent = getpid();
    // Those of the process that started this one, which is not pinned.
    cpu_set_t usable;
    if (sched_getaffinity(getppid(), sizeof usable, &usable) != 0)
        sched_getaffinity(0, sizeof usable, &usable);
    pid = fork();
    if (pid == 0)
        become_launcher(word_pointers.data(), variable_pointers.data(), standard_output, parent, usable);
    if (pid > 0)
        return IPCMARK_DONE;
    pid = 0;
    return ipcmark_fail_errno(error, "start", library->launcher[0], errno, nullptr);
}

// Reads what is printed until every rank has said that its file is there.
int Launcher::await_ranks(uint32_t ranks, ipcmark_error *error) {
    const auto deadline = Clock::now() + READY_WITHIN;
    std::string said;
    while (count_of(said, MARK) < ranks) {
        const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
        pollfd ready{output, POLLIN, 0};
        if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) == 0)
            return ipcmark_fail(error, "start", library->launcher[0], "it does not start the ranks", nullptr);
        char text[512];
        const ssize_t count = read(output, text, sizeof text);
        if (count == 0)
            return fail_ended(said, error);
        if (count > 0)
            said.append(text, static_cast<size_t>(count));
    }
    return IPCMARK_DONE;
}

int Launcher::fail_ended(const std::string &said, ipcmark_error *error) {
    int status = 0;
    waitpid(pid, &status, 0);
    pid = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return ipcmark_fail(error, "start", library->launcher[0], "there is no such program", library->remedy);
    const size_t tail = said.size() > 300 ? said.size() - 300 : 0;
    const std::string cause = "it ended: " + said.substr(tail);
    return ipcmark_fail(error, "start", library->launcher[0], cause.c_str(), nullptr);
}

int Launcher::environment(uint32_t rank) const {
    const std::string path = directory + "/rank-" + std::to_string(rank);
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    unlink(path.c_str());
    return file;
}

void Launcher::stop() {
    for (int *fd : {&hold, &output}) {
        if (*fd >= 0)
            close(*fd);
        *fd = -1;
    }
    const auto start = Clock::now();
    while (pid > 0 && waitpid(pid, nullptr, WNOHANG) == 0) {
        if (Clock::now() > start + 2 * ENDS_WITHIN)
            kill(-pid, SIGKILL);
        else if (Clock::now() > start + ENDS_WITHIN)
            kill(pid, SIGTERM);
        std::this_thread::sleep_for(milliseconds(1));
    }
    pid = 0;
    // One that was killed has removed nothing.
    std::error_code ignored;
    std::filesystem::remove_all(own_files(), ignored);
}

std::string Launcher::own_files() const {
    return directory + "/launcher";
}

} // namespace ipcmark::mpi
