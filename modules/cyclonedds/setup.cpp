#include "setup.hpp"

#include "domain.hpp"

#include "shared/cpp/socket_buffers.hpp"
#include "shared/roudi/runtime.hpp"

#include <chrono>
#include <memory>

#include <dds/ddsi/ddsi_serdata.h>
#include <dds/ddsi/ddsi_shm_transport.h>

namespace cyclonedds_module {

namespace {

constexpr std::chrono::seconds CLOSED_WITHIN{2};

// The bytes before a message in a chunk: the library's own header, which is aligned, and ours.
constexpr size_t CHUNK_HEAD = 64 + sizeof(iceoryx_header_t) + FIXED_HEAD;

using SharedEnd = std::shared_ptr<End>;

void note(ipcmark_session *session, const char *key, const std::string &value) {
    session->note(session, key, value.c_str());
}

void note_all(const Config &config, ipcmark_session *session) {
    const auto messages = std::to_string(config.history) + " messages";
    note(session, "reliability", config.reliable ? "reliable" : "best effort");
    note(session, "history", (config.shares ? "keep last, " : "keep all, ") + messages);
    note(session, "durability", "volatile");
    note(session, "domain", std::to_string(config.domain));
    // A profile can change the rest.
    if (config.shares || !config.profile.empty())
        return;
    note(session, "socket buffers", ipcmark::granted_buffers(config.socket_buffer));
    note(session, "datagrams", "65500 bytes at most");
}

// The number of chunks covers for every endpoint: its full history, one on loan, one that the publisher keeps, two
// spare. The size of a chunk must be a multiple of 32.
ipcmark::Pool pool_for(const Config &config) {
    const uint64_t ends = 1 + config.followers;
    return {(config.payload + CHUNK_HEAD + 31) / 32 * 32, ends * (config.history + 4)};
}

// Makes all entities of the library. With iceoryx this calls its daemon: if the call is abandoned, its thread keeps a
// reference to the endpoint.
void make_entities(const SharedEnd &end, const LeaderAddress &leader, ipcmark_error *error) {
    const auto make = [end, leader] {
        end->participant = make_participant(end->config, leader);
        end->make_endpoints();
    };
    if (end->daemon)
        require(end->daemon->enter(make, error));
    else
        make();
}

void lead(const SharedEnd &end, ipcmark_session *session, ipcmark_error *error) {
    const LeaderAddress leader = choose_address(end->config);
    make_entities(end, leader, error);
    for (uint32_t peer = 0; peer < session->peers; peer++)
        require(session->send(session, peer, &leader, sizeof leader, nullptr, 0, error));
    // Detects a failed follower at once, not after the time limit of match.
    for (uint32_t peer = 0; peer < session->peers; peer++) {
        size_t none = 0, len = 0;
        require(session->receive(session, peer, nullptr, &len, nullptr, &none, error));
    }
}

void follow(const SharedEnd &end, ipcmark_session *session, ipcmark_error *error) {
    LeaderAddress leader{};
    size_t none = 0, len = sizeof leader;
    require(session->receive(session, 0, &leader, &len, nullptr, &none, error));
    leader.host[sizeof leader.host - 1] = '\0';
    make_entities(end, leader, error);
    require(session->send(session, 0, nullptr, 0, nullptr, 0, error));
}

void delete_entities(End &end) {
    if (end.taken)
        ddsi_serdata_unref(end.taken);
    if (end.on_loan)
        dds_return_loan(end.writer, &end.on_loan, 1);
    if (end.participant > 0)
        delete_domain(end.participant);
}

// The library joins its own threads, which may wait for a dead process; and it cannot return memory to an iceoryx
// daemon that is gone. True if all entities were deleted.
bool delete_within_limit(const SharedEnd &end) {
    const auto deadline = std::chrono::steady_clock::now() + CLOSED_WITHIN;
    const auto is_possible = [&] { return !end->daemon || !end->daemon->is_daemon_gone(); };
    const auto is_wanted = [&] { return is_possible() && std::chrono::steady_clock::now() < deadline; };
    std::string reason;
    return is_possible() && ipcmark::call_daemon([end] { delete_entities(*end); }, is_wanted, reason);
}

} // namespace

void set_up(const SharedEnd &end, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    const ipcmark::Deadline deadline(settings);
    const auto &config = end->config;
    if (config.shares) {
        end->daemon = std::make_unique<ipcmark::Client>();
        require(end->daemon->open(pool_for(config), config.history, settings, deadline, session, error));
    }
    if (config.leads)
        lead(end, session, error);
    else
        follow(end, session, error);
    end->match(deadline);
    require(session->meet(session, error));
    note_all(config, session);
    if (!config.reliable)
        session->may_lose(session);
}

void tear_down(const SharedEnd &end) {
    const bool is_deleted = delete_within_limit(end);
    if (end->daemon)
        end->daemon->close(is_deleted);
    // A reference that is never dropped: threads of the library use the endpoint until the process ends.
    if (!is_deleted)
        static_cast<void>(new SharedEnd(end));
}

} // namespace cyclonedds_module
