#include "shared/mpi/launcher.hpp"

#include "shared/cpp/environment.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ipcmark::mpi {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds ENDS_WITHIN{2000};

// Printed when a rank has written its file.
constexpr const char *MARK = "ipcmark-rank";

// Run by /bin/sh with the directory as $1. The file gets its name only when it is complete.
constexpr const char *AGENT = "n=${PMIX_RANK:-${PMI_RANK:-$PMI_ID}}; exec 3<\"$1/hold\" && "
                              "env -0 >\"$1/new-$n\" && mv \"$1/new-$n\" \"$1/rank-$n\" && "
                              "echo ipcmark-rank && exec cat <&3";

// The prefixes of variables with which launchers control ranks and users configure them.
constexpr const char *PREFIXES[] = {"PMI", "OMPI_", "ORTE_", "PRTE_", "MPI_LOCAL", "MPIR_CVAR_", "HYDRA_", "MPIEXEC_"};
// Those with which users configure the library's carriers, and older names of its own settings. No rank takes them
// over.
constexpr const char *CARRIERS[] = {"UCX_", "FI_", "MPIR_PARAM_", "MPICH_"};
// A descriptor that belongs to the agent.
constexpr const char *AGENTS_OWN = "HYDI_CONTROL_FD";

// Parts of names of variables that make a library load code or read files that may do so. No launcher sets them.
constexpr const char *LOADS[] = {"component_path", "param_file", "mca_base", "_LIBDIR", "_PREFIX", "_path"};
// More than any process's environment.
constexpr size_t MOST_BYTES = 1 << 20;

template <typename Prefixes> bool begins_with(const std::string &variable, const Prefixes &prefixes) {
    const auto begins = [&](const char *prefix) { return variable.rfind(prefix, 0) == 0; };
    return std::any_of(std::begin(prefixes), std::end(prefixes), begins);
}

bool is_launchers(const std::string &variable) {
    return begins_with(variable, PREFIXES);
}

// True if a variable may be taken over from the other process, which must not choose the code that this one loads.
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

} // namespace

void forget_launchers() {
    forget_variables([](const char *variable) { return is_launchers(variable) || begins_with(variable, CARRIERS); });
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

int Launcher::start(const Library &library, const char *in, uint32_t ranks, const Deadline &deadline,
                    ipcmark_error *error) {
    directory = in;
    mkdir(own_files().c_str(), 0700);
    Command command{library.launcher[0], {}, library.launcher_variables, SIGTERM, library.remedy};
    command.variables.push_back("TMPDIR=" + own_files());
    command.words.assign(library.launcher.begin(), library.launcher.end());
    for (const std::string &word : {std::to_string(ranks), std::string("/bin/sh"), std::string("-c"),
                                    std::string(AGENT), std::string(MARK), directory})
        command.words.push_back(word);
    int result = make_hold(error);
    if (result == IPCMARK_DONE)
        result = program.start(command, error);
    if (result == IPCMARK_DONE)
        result = program.await(MARK, ranks, deadline, "it does not start the ranks", error);
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

int Launcher::environment(uint32_t rank) const {
    const std::string path = directory + "/rank-" + std::to_string(rank);
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    unlink(path.c_str());
    return file;
}

void Launcher::stop() {
    if (hold >= 0)
        close(hold);
    hold = -1;
    program.stop(ENDS_WITHIN);
    // A killed launcher has removed nothing.
    std::error_code ignored;
    std::filesystem::remove_all(own_files(), ignored);
}

std::string Launcher::own_files() const {
    return directory + "/launcher";
}

} // namespace ipcmark::mpi
