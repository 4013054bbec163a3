#include "setup.hpp"

#include "participant.hpp"
#include "security.hpp"

#include "shared/c/space.h"
#include "shared/cpp/socket_buffers.hpp"
#include "shared/cpp/within.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <sys/mman.h>
#include <sys/stat.h>

// Known to kernels since 5.14; headers may be older.
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace fastdds_module {

namespace {

// The leader's message to its followers.
struct Invitation {
    LeaderAddress leader;
    uint32_t opening; // As in Config.
    char credentials[256];
};

// The bytes of /dev/shm that a session uses, for all its endpoints together.
uint64_t shared_bytes(const Config &config) {
    const uint64_t ends = 1 + config.followers;
    const uint64_t pool = (config.history + config.spare + 2) * (config.payload + 256) + (64 << 10);
    return ends * ((config.shm ? config.segment + (1u << 20) : 0) + (config.sharing != Sharing::Off ? pool : 0));
}

// The library touches its pools message by message. This makes every page present before the first message.
void populate_pools(const Config &config) {
    std::ifstream maps("/proc/self/maps");
    const auto directory = pool_directory(config.name);
    std::string line;
    while (std::getline(maps, line)) {
        unsigned long from, to;
        char access[5];
        if (line.find(directory) == std::string::npos ||
            std::sscanf(line.c_str(), "%lx-%lx %4s", &from, &to, access) != 3)
            continue;
        // Older kernels refuse it; then the warm-up touches the pages.
        // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel wrote the address.
        madvise(reinterpret_cast<void *>(from), to - from, access[1] == 'w' ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
    }
}

// Once every endpoint is open, nobody needs the names: pools are mapped, certificates read. So a killed session leaves
// none of them.
void remove_names(const Config &config) {
    std::error_code ignored;
    std::filesystem::remove_all(pool_directory(config.name), ignored);
    std::filesystem::remove_all(config.directory + "/security", ignored);
}

void note(ipcmark_session *session, const char *key, const std::string &value) {
    session->note(session, key, value.c_str());
}

void note_all(const Config &config, ipcmark_session *session) {
    note(session, "transports",
         config.udp && config.shm ? "shared memory, UDP"
         : config.shm             ? "shared memory"
                                  : "UDP on " + config.host);
    note(session, "data sharing",
         config.sharing == Sharing::On    ? "on"
         : config.sharing == Sharing::Off ? "off"
                                          : "auto");
    note(session, "reliability", config.reliable ? "reliable" : "best effort");
    note(session, "history", "keep all, " + std::to_string(config.history) + " messages");
    note(session, "durability", "volatile");
    note(session, "domain", std::to_string(config.domain));
    if (config.reliable)
        note(session, "heartbeat", std::to_string(config.heartbeat_ms()) + " ms, answered at once");
    if (config.shm)
        note(session, "segment", std::to_string(config.segment >> 10) + " KiB");
    if (config.udp)
        note(session, "socket buffers", ipcmark::granted_buffers(config.socket_buffer));
    if (config.loans)
        note(session, "loans", "on");
    if (config.secure)
        note(session, "security", "PKI-DH, access permissions, AES-GCM-GMAC on submessages and payloads");
}

// The directory of the certificates, permissions and governance to use; "" without security.
std::string credentials(const Config &config) {
    if (!config.secure)
        return "";
    if (!config.certificates.empty()) {
        check_credentials(config.certificates);
        if (has_permissions(config.certificates))
            return config.certificates;
    }
    if (config.is_between_hosts)
        throw Failure{"use", "permissions made for the session", "the other host cannot read them",
                      "set certificates to a directory that both hosts have, with permissions in it"};
    return make_credentials(config);
}

void make_entities(End &end, const Ports &ports, const LeaderAddress *leader, const std::string &credentials) {
    end.participant = make_participant(end.config, ports, leader, credentials);
    end.make_endpoints();
}

Invitation invitation(const Config &config, const Ports &ports, const std::string &credentials) {
    Invitation invitation{};
    invitation.opening = config.opening;
    invitation.leader.discovery = ports.discovery;
    config.host.copy(invitation.leader.host, sizeof invitation.leader.host - 1);
    if (credentials.size() >= sizeof invitation.credentials)
        throw Failure{"read", credentials, "the path is too long", ""};
    credentials.copy(invitation.credentials, sizeof invitation.credentials - 1);
    return invitation;
}

// For this user alone; fails if somebody else has made it, whose files the library would open.
void make_pool_directory(const std::string &directory) {
    if (mkdir(directory.c_str(), 0700) != 0)
        throw Failure{"create", directory, std::strerror(errno), ""};
}

void lead(End &end, ipcmark_session *session, ipcmark_error *error) {
    static std::atomic<uint32_t> openings{0};
    auto &config = end.config;
    config.opening = ++openings;
    if (config.sharing != Sharing::Off)
        make_pool_directory(pool_directory(config.name));
    const auto directory = credentials(config);
    const auto ports = choose_ports(config);
    const auto invited = invitation(config, ports, directory);
    make_entities(end, ports, nullptr, directory);
    for (uint32_t peer = 0; peer < session->peers; peer++)
        require(session->send(session, peer, &invited, sizeof invited, nullptr, 0, error));
    // Detects a failed follower at once, not after the time limit of match.
    for (uint32_t peer = 0; peer < session->peers; peer++) {
        size_t none = 0, len = 0;
        require(session->receive(session, peer, nullptr, &len, nullptr, &none, error));
    }
}

void follow(End &end, ipcmark_session *session, ipcmark_error *error) {
    Invitation invited{};
    size_t none = 0, len = sizeof invited;
    require(session->receive(session, 0, &invited, &len, nullptr, &none, error));
    invited.credentials[sizeof invited.credentials - 1] = invited.leader.host[sizeof invited.leader.host - 1] = '\0';
    end.config.opening = invited.opening;
    make_entities(end, choose_ports(end.config), &invited.leader, invited.credentials);
    require(session->send(session, 0, nullptr, 0, nullptr, 0, error));
}

void join(End &end, const ipcmark::Deadline &deadline, ipcmark_session *session, ipcmark_error *error) {
    if (end.config.leads)
        lead(end, session, error);
    else
        follow(end, session, error);
    end.match(deadline);
    require(session->meet(session, error));
    populate_pools(end.config);
}

// Closes an endpoint that goes out of scope.
struct TearDown {
    void operator()(End *end) const { tear_down(std::unique_ptr<End>(end)); }
};

} // namespace

std::unique_ptr<End> set_up(const Config &config, const ipcmark::Deadline &deadline, ipcmark_session *session,
                            ipcmark_error *error) {
    require(ipcmark_check_space(shared_bytes(config), error));
    std::unique_ptr<End, TearDown> end(new End(config));
    const int result = guarded(error, [&] { join(*end, deadline, session, error); });
    if (config.leads)
        remove_names(config);
    require(result);
    // Every endpoint returns only after the names are removed.
    require(session->meet(session, error));
    note_all(config, session);
    if (!config.reliable)
        session->may_lose(session);
    return std::unique_ptr<End>(end.release());
}

// If two endpoints close at the same time, one sometimes hangs forever in the library.
void tear_down(std::unique_ptr<End> end) {
    if (!ipcmark::done_within(std::chrono::seconds(2), [end = std::move(end)]() mutable { end.reset(); }))
        ipcmark::end_without_destructors();
}

void check_files(const Config &config) {
    load_profile(config.profile);
    if (!config.certificates.empty())
        check_credentials(config.certificates);
}

} // namespace fastdds_module
