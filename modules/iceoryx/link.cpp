#include "link.hpp"

#include "runtime.hpp"

#include <algorithm>
#include <cerrno>

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ipcmark {

namespace {

constexpr size_t QUEUE_BYTES = 8u << 20;
constexpr uint64_t LEAST_DEPTH = 2, MOST_DEPTH = 128;

// How long the leader waits for the follower to let go before it ends the daemon.
constexpr int FOLLOWER_MS = 2000;

// What a queue holds.
uint64_t depth_for(uint64_t payload) {
    return std::clamp<uint64_t>(QUEUE_BYTES / payload, LEAST_DEPTH, MOST_DEPTH);
}

// Chunks for both directions: each queue full, one on loan, one kept by the publisher, one taken.
// Sizes of pools are multiples of 32.
Pool pool_for(uint64_t payload) {
    return Pool{(payload + 31) / 32 * 32 + 32, 2 * (depth_for(payload) + 3)};
}

void note_pool(const Pool &pool, ipcmark_session *session) {
    const std::string text = std::to_string(pool.count) + " chunks of " + std::to_string(pool.size) + " bytes";
    session->note(session, "pool", text.c_str());
    session->note(session, "policies", "publisher waits for consumer, queue blocks producer");
}

} // namespace

int Link::open(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    const bool leads = settings.role == IPCMARK_LEADER;
    depth = depth_for(settings.payload);
    own = leads ? 0 : 1;
    if (int result = leads ? lead(settings, session, error) : follow(session, error))
        return result;
    note_pool(pool_for(settings.payload), session);
    session->note(session, "queue", (std::to_string(depth) + " messages").c_str());
    open_runtime(registration_name(settings.name, leads));
    registered = true;
    return IPCMARK_DONE;
}

int Link::lead(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    const int memory = memfd_create("ipcmark-accounts", MFD_CLOEXEC);
    int pair[2] = {-1, -1};
    if (memory < 0 || ftruncate(memory, 2 * sizeof(Account)) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        const int number = errno;
        ::close(memory);
        return ipcmark_fail_errno(error, "make", "the accounts of a queue", number, nullptr);
    }
    peer = pair[0];
    daemon = std::make_unique<Daemon>();
    int result = map(memory, error);
    if (result == IPCMARK_DONE)
        result = daemon->start(pool_for(settings.payload), settings.directory, error);
    life = daemon->life();
    const int fds[] = {memory, pair[1], life};
    if (result == IPCMARK_DONE)
        result = session->send(session, 0, "ready", 5, fds, 3, error);
    ::close(memory);
    ::close(pair[1]);
    return result;
}

int Link::follow(ipcmark_session *session, ipcmark_error *error) {
    char word[16];
    int fds[3];
    size_t len = sizeof word, count = 3;
    if (int result = session->receive(session, 0, word, &len, fds, &count, error))
        return result;
    if (count != 3)
        return ipcmark_fail(error, "open", "the accounts of a queue", "the leader sent none", nullptr);
    peer = fds[1];
    life = fds[2];
    const int result = map(fds[0], error);
    ::close(fds[0]);
    return result;
}

int Link::map(int memory, ipcmark_error *error) {
    void *mapped = mmap(nullptr, 2 * sizeof(Account), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, memory, 0);
    if (mapped == MAP_FAILED)
        return ipcmark_fail_errno(error, "map", "the accounts of a queue", errno, nullptr);
    accounts = static_cast<Account *>(mapped);
    return IPCMARK_DONE;
}

bool Link::is_daemon_gone() const {
    // A leader that is gone takes its daemon along.
    pollfd ended[] = {{life, 0, 0}, {daemon ? -1 : peer, 0, 0}};
    return poll(ended, 2, 0) > 0;
}

void Link::await_follower() const {
    pollfd closed{peer, POLLIN, 0};
    while (poll(&closed, 1, FOLLOWER_MS) < 0 && errno == EINTR) {
    }
}

void Link::close() {
    if (registered) {
        if (is_daemon_gone())
            abandon_runtime();
        else
            close_runtime();
    }
    registered = false;
    if (daemon && peer >= 0)
        await_follower();
    if (peer >= 0)
        ::close(peer);
    peer = -1;
    if (!daemon && life >= 0)
        ::close(life);
    life = -1;
    daemon.reset();
    if (accounts)
        munmap(accounts, 2 * sizeof(Account));
    accounts = nullptr;
}

} // namespace ipcmark
