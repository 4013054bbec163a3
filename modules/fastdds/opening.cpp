// How the ends of a session open: the leader first, then the followers, who are told where it is;
// then all of them wait until they are matched.
#include "endpoint.hpp"
#include "participant.hpp"
#include "security.hpp"
#include "transport.hpp"
#include "words.hpp"

#include "../space.h"
#include "../within.hpp"

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <sys/mman.h>

// Known to kernels since 5.14; headers may be older.
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace fastdds_module {

namespace {

// What the leader tells its followers.
struct Welcome {
    Leader leader;
    uint32_t opening; // As in Plan.
    char credentials[256];
};

// Memory that a session takes of /dev/shm, all its ends together.
uint64_t shared_bytes(const Plan &plan) {
    const uint64_t ends = 1 + plan.followers;
    const uint64_t pool = (plan.history + plan.spare + 2) * (plan.payload + 256) + (64 << 10);
    return ends * ((plan.shm ? plan.segment + (1u << 20) : 0) + (plan.sharing != Sharing::Off ? pool : 0));
}

// The library touches its pools message by message; here every page is there before the first.
void populate_pools(const Plan &plan) {
    std::ifstream maps("/proc/self/maps");
    const auto directory = pool_directory(plan.name);
    std::string line;
    while (std::getline(maps, line)) {
        unsigned long from, to;
        char access[5];
        if (line.find(directory) == std::string::npos ||
            std::sscanf(line.c_str(), "%lx-%lx %4s", &from, &to, access) != 3)
            continue;
        // Where the kernel cannot, the warm-up does it.
        madvise(reinterpret_cast<void *>(from), to - from,
                access[1] == 'w' ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
    }
}

// Nobody needs a name any more: pools are mapped, certificates read. So nothing stays of a session
// that is killed.
void remove_names(const Plan &plan) {
    std::error_code ignored;
    std::filesystem::remove_all(pool_directory(plan.name), ignored);
    std::filesystem::remove_all(plan.directory + "/security", ignored);
}

void note(ipcmark_session *session, const char *key, const std::string &value) {
    session->note(session, key, value.c_str());
}

void note_all(const Plan &plan, ipcmark_session *session) {
    note(session, "transports", plan.udp && plan.shm ? "shared memory, UDP"
                                : plan.shm           ? "shared memory"
                                                     : ("UDP on " + plan.host).c_str());
    note(session, "data sharing", plan.sharing == Sharing::On    ? "on"
                                  : plan.sharing == Sharing::Off ? "off"
                                                                 : "auto");
    note(session, "reliability", plan.reliable ? "reliable" : "best effort");
    note(session, "history", "keep all, " + std::to_string(plan.history) + " messages");
    note(session, "durability", "volatile");
    note(session, "domain", std::to_string(plan.domain));
    if (plan.reliable)
        note(session, "heartbeat", "10 ms, answered at once");
    if (plan.shm)
        note(session, "segment", std::to_string(plan.segment >> 10) + " KiB");
    if (plan.udp)
        note(session, "socket buffers", std::to_string(plan.socket_buffer >> 10) + " KiB");
    if (plan.loans)
        note(session, "loans", "on");
    if (plan.secure)
        note(session, "security", "PKI-DH, access permissions, AES-GCM-GMAC on submessages and payloads");
}

std::string credentials(const Plan &plan) {
    if (!plan.secure)
        return "";
    if (!plan.certificates.empty()) {
        check_credentials(plan.certificates);
        if (has_permissions(plan.certificates))
            return plan.certificates;
    }
    if (plan.apart)
        throw Failure{"use", "permissions made for the session", "the other host cannot read them",
                      "set certificates to a directory that both hosts have, with permissions in it"};
    return make_credentials(plan);
}

// Makes all that an end has; what it shares is known for whoever cleans up as early as can be.
void make_entities(End &end, const Ports &ports, const Leader *leader, const std::string &credentials) {
    end.participant = make_participant(end.plan, ports, leader, credentials);
    if (end.plan.shm)
        list_segments(end.plan.name);
    end.make_endpoints();
}

void lead(End &end, ipcmark_session *session, ipcmark_error *error) {
    static std::atomic<uint32_t> openings{0};
    auto &plan = end.plan;
    plan.opening = ++openings;
    if (plan.sharing != Sharing::Off)
        std::filesystem::create_directories(pool_directory(plan.name));
    const auto directory = credentials(plan);
    const auto ports = choose_ports(plan);
    Welcome welcome{};
    welcome.opening = plan.opening;
    welcome.leader.discovery = ports.discovery;
    plan.host.copy(welcome.leader.host, sizeof welcome.leader.host - 1);
    if (directory.size() >= sizeof welcome.credentials)
        throw Failure{"read", directory, "the path is too long", ""};
    directory.copy(welcome.credentials, sizeof welcome.credentials - 1);
    make_entities(end, ports, nullptr, directory);
    for (uint32_t peer = 0; peer < session->peers; peer++)
        proceed(session->send(session, peer, &welcome, sizeof welcome, nullptr, 0, error));
    // A follower that cannot come so far is missed at once, not after the patience of match.
    for (uint32_t peer = 0; peer < session->peers; peer++) {
        size_t none = 0, len = 0;
        proceed(session->receive(session, peer, nullptr, &len, nullptr, &none, error));
    }
}

void follow(End &end, ipcmark_session *session, ipcmark_error *error) {
    Welcome welcome{};
    size_t none = 0, len = sizeof welcome;
    proceed(session->receive(session, 0, &welcome, &len, nullptr, &none, error));
    welcome.credentials[sizeof welcome.credentials - 1] = welcome.leader.host[sizeof welcome.leader.host - 1] = '\0';
    end.plan.opening = welcome.opening;
    make_entities(end, choose_ports(end.plan), &welcome.leader, welcome.credentials);
    proceed(session->send(session, 0, nullptr, 0, nullptr, 0, error));
}

void join(End &end, ipcmark_session *session, ipcmark_error *error) {
    if (end.plan.leads)
        lead(end, session, error);
    else
        follow(end, session, error);
    end.match();
    proceed(session->meet(session, error));
    populate_pools(end.plan);
}

} // namespace

int check_options(const ipcmark_transport *transport, const ipcmark_option *options, uint32_t option_count,
                  ipcmark_error *error) {
    return guarded(error, [&] {
        ipcmark_settings settings{};
        settings.payload = 16;
        settings.name = settings.directory = "";
        settings.options = options;
        settings.option_count = option_count;
        const auto plan = make_plan(*static_cast<const Row *>(transport->context), settings);
        listen_to_the_library();
        load_profile(plan.profile);
        if (!plan.certificates.empty())
            check_credentials(plan.certificates);
    });
}

int open_end(const ipcmark_transport *transport, const ipcmark_settings *settings,
             ipcmark_session *session, void **opened, ipcmark_error *error) {
    return guarded(error, [&] {
        const auto plan = make_plan(*static_cast<const Row *>(transport->context), *settings);
        listen_to_the_library();
        proceed(ipcmark_check_space(shared_bytes(plan), error));
        std::unique_ptr<End, decltype(&close_end)> end(new End(plan), close_end);
        const int result = guarded(error, [&] { join(*end, session, error); });
        if (plan.leads)
            remove_names(plan);
        proceed(result);
        // The names are gone once every end is open.
        proceed(session->meet(session, error));
        note_all(plan, session);
        if (!plan.reliable)
            session->may_lose(session);
        *opened = end.release();
    });
}

// Of two ends that close at the same moment one is at times locked up in the library for good.
void close_end(void *end) {
    const auto plan = static_cast<End *>(end)->plan;
    if (!ipcmark::done_within(std::chrono::seconds(2), [end] { delete static_cast<End *>(end); }))
        ipcmark::end_without_destructors();
    else if (plan.shm && plan.leads)
        forget_segments(plan.name);
}

} // namespace fastdds_module
