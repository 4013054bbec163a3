#include "shared/mpi/job.hpp"

#include "shared/cpp/descriptors.hpp"
#include "shared/cpp/within.hpp"
#include "shared/mpi/calls.hpp"
#include "shared/mpi/launcher.hpp"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <thread>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ipcmark::mpi {

namespace {

constexpr int RANKS = 2;
// The tag of the first message in each direction; an endpoint's own tag is greater.
constexpr int HELLO = 0;
constexpr int LEADER_WAITS_MS = 2000;

// One per process.
struct Job {
    const Way *way = nullptr;
    Launcher launcher; // Only in the leader.
    int life = -1;     // An end of a pipe that detects the end of the other process.
    bool is_spoiled = false;
    int rank = 0;
};

Job &job() {
    static Job *const only = new Job; // Outlives the destructors of the process.
    return *only;
}

// The library ends a rank whose launcher is gone, so the launcher stays until the follower has ended.
void end_job() {
    pollfd follower{job().life, 0, 0};
    while (job().life >= 0 && poll(&follower, 1, LEADER_WAITS_MS) < 0 && errno == EINTR) {
    }
    job().launcher.stop();
}

int take_over_and_close(int environment, ipcmark_error *error) {
    if (environment < 0)
        return ipcmark_fail_errno(error, "open", "the environment of a rank", errno, nullptr);
    const int result = take_over(environment, error);
    close(environment);
    return result;
}

int lead(const Way &way, const char *directory, const Deadline &deadline, ipcmark_session *session,
         ipcmark_error *error) {
    if (const int result = job().launcher.start(*way.library, directory, RANKS, deadline, error))
        return result;
    std::atexit(end_job);
    int life[2];
    if (pipe2(life, O_CLOEXEC) != 0)
        return ipcmark_fail_errno(error, "make", "a pipe", errno, nullptr);
    job().life = life[0];
    const int own = job().launcher.environment(0), other = job().launcher.environment(1);
    const int fds[] = {other, life[1]};
    int result = take_over_and_close(own, error);
    if (result == IPCMARK_DONE)
        result = session->send(session, 0, "rank", 4, fds, 2, error);
    close(other);
    close(life[1]);
    return result;
}

int follow(ipcmark_session *session, ipcmark_error *error) {
    int fds[2];
    if (const int result =
            receive_descriptors(session, fds, "join", "the MPI job", "the leader sent no environment of a rank", error))
        return result;
    job().life = fds[1]; // Open while this process lives.
    return take_over_and_close(fds[0], error);
}

// These connections carry no message. ipcmark examines a process's sockets, and would report these as delayed by
// Nagle's algorithm.
void send_at_once_to_launcher() {
    const int on = 1;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd"))
        (void)setsockopt(std::atoi(entry.path().filename().c_str()), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// MPI_Init waits forever for the other rank, and cannot be stopped. So a separate thread calls it, which is abandoned
// after the deadline, or if the other process dies; nothing may wait for it when this process ends.
int initialize(const Deadline &deadline, ipcmark_error *error) {
    auto promise = std::make_shared<std::promise<int>>();
    auto code = promise->get_future();
    std::thread thread([promise] { promise->set_value(MPI_Init(nullptr, nullptr)); });
    while (code.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
        pollfd other{job().life, 0, 0};
        const bool is_gone = poll(&other, 1, 0) > 0;
        if (!is_gone && !deadline.has_passed())
            continue;
        thread.detach();
        end_without_destructors();
        if (!is_gone)
            return ipcmark_fail(error, "start", "MPI", deadline.missed("it does not start").c_str(),
                                "allow more with --timeout, or see if mpiexec starts two ranks of a program of MPI");
        ipcmark_fail(error, "start", "MPI", "the other process is gone", nullptr);
        return IPCMARK_PEER_GONE;
    }
    thread.join();
    const int result = code.get();
    return result == MPI_SUCCESS ? IPCMARK_DONE : fail(error, "start", result);
}

int start_library(const Way &way, bool leads, const Deadline &deadline, ipcmark_error *error) {
    for (const auto &variable : way.variables)
        putenv(const_cast<char *>(variable.c_str()));
    if (const int result = initialize(deadline, error); result != IPCMARK_DONE)
        return result;
    send_at_once_to_launcher();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &job().rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size == RANKS && job().rank == (leads ? 0 : 1))
        return IPCMARK_DONE;
    const std::string cause = "this process is rank " + std::to_string(job().rank) + " of " + std::to_string(size);
    return ipcmark_fail(error, "join", "the MPI job", cause.c_str(), nullptr);
}

// Connections are made at the first message.
int greet(const Deadline &deadline, ipcmark_error *error) {
    MPI_Request requests[2];
    char sent = 0, received = 0;
    int code = MPI_Irecv(&received, 1, MPI_BYTE, partner(), HELLO, MPI_COMM_WORLD, &requests[0]);
    if (code == MPI_SUCCESS)
        code = MPI_Isend(&sent, 1, MPI_BYTE, partner(), HELLO, MPI_COMM_WORLD, &requests[1]);
    int done = 0;
    const auto is_over = [&] {
        code = code == MPI_SUCCESS ? MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE) : code;
        return code != MPI_SUCCESS || done;
    };
    if (!holds_by(deadline, is_over)) {
        job().is_spoiled = true;
        return ipcmark_fail(error, "connect", "the two ranks", deadline.missed("no message comes through").c_str(),
                            nullptr);
    }
    return code == MPI_SUCCESS ? IPCMARK_DONE : fail(error, "connect", code);
}

// Both ranks have mapped the segments; without names, a killed rank leaves no file.
void remove_segments(const char *name) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (const size_t at = line.find(name); at != std::string::npos)
            unlink(line.c_str() + at);
}

int start(const Way &way, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    const Deadline deadline(settings);
    const bool leads = settings.role == IPCMARK_LEADER;
    job().way = &way;
    forget_launchers();
    int result = leads ? lead(way, settings.directory, deadline, session, error) : follow(session, error);
    if (result == IPCMARK_DONE)
        result = session->meet(session, error);
    if (result == IPCMARK_DONE)
        result = start_library(way, leads, deadline, error);
    if (result == IPCMARK_DONE)
        result = greet(deadline, error);
    if (result == IPCMARK_DONE)
        result = session->meet(session, error);
    job().is_spoiled = job().is_spoiled || result != IPCMARK_DONE;
    if (result == IPCMARK_DONE && way.library->segments)
        remove_segments(way.library->segments);
    return result;
}

void note(const Way &way, ipcmark_session *session) {
    std::string command;
    for (const char *word : way.library->launcher)
        command += std::string(command.empty() ? "" : " ") + word;
    session->note(session, "launcher", (command + " " + std::to_string(RANKS)).c_str());
    std::string set;
    for (const auto &variable : way.variables)
        set += (set.empty() ? "" : " ") + variable;
    session->note(session, "variables", set.c_str());
    if (way.library->note)
        way.library->note(session);
}

} // namespace

int join(const Way &way, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    if (job().is_spoiled || (job().way && job().way != &way))
        return ipcmark_fail(error, "join", "an MPI job", "MPI starts once in a process, and did so for another one",
                            nullptr);
    const int result = job().way ? IPCMARK_DONE : start(way, settings, session, error);
    if (result == IPCMARK_DONE)
        note(way, session);
    return result;
}

int partner() {
    return 1 - job().rank;
}

void spoil() {
    job().is_spoiled = true;
}

int fail(ipcmark_error *error, const char *operation, int code) {
    char text[MPI_MAX_ERROR_STRING];
    int len = 0;
    if (MPI_Error_string(code, text, &len) != MPI_SUCCESS)
        snprintf(text, sizeof text, "error %d", code);
    return ipcmark_fail(error, operation, "MPI", text, nullptr);
}

const char *library_version() {
    static char version[32];
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int len = 0;
    if (MPI_Get_library_version(text, &len) != MPI_SUCCESS)
        return nullptr;
    const char *digit = text;
    while (*digit && !isdigit(static_cast<unsigned char>(*digit)))
        digit++;
    snprintf(version, sizeof version, "%.*s", static_cast<int>(strspn(digit, "0123456789.")), digit);
    return version;
}

} // namespace ipcmark::mpi
