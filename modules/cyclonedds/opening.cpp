// How the ends of a session open and close: the leader opens first, then the followers, who are told
// where it is; then all of them wait until they are matched.
#include "../iceoryx/asking.hpp"
#include "domain.hpp"
#include "endpoint.hpp"
#include "sharing.hpp"
#include "transport.hpp"
#include "words.hpp"

#include <chrono>
#include <memory>

#include <dds/ddsi/ddsi_serdata.h>

namespace cyclonedds_module {

namespace {

constexpr std::chrono::seconds ENDS_WITHIN{2};

void note(ipcmark_session *session, const char *key, const std::string &value) {
    session->note(session, key, value.c_str());
}

void note_all(const Plan &plan, ipcmark_session *session) {
    const auto messages = std::to_string(plan.history) + " messages";
    note(session, "reliability", plan.reliable ? "reliable" : "best effort");
    note(session, "history", (plan.shares ? "keep last, " : "keep all, ") + messages);
    note(session, "durability", "volatile");
    note(session, "domain", std::to_string(plan.domain));
    if (plan.shares)
        return;
    note(session, "socket buffers", std::to_string(plan.socket_buffer >> 10) + " KiB");
    note(session, "datagrams", "65500 bytes at most");
}

using Opened = std::shared_ptr<End>;

// Makes all that the library has. Where it asks iceoryx's daemon it may stay
// behind, with its share of the end.
void make_all(const Opened &end, const Leader &leader, ipcmark_error *error) {
    const auto make = [end, leader] {
        end->participant = make_participant(end->plan, leader);
        end->make_endpoints();
    };
    if (end->sharing)
        end->sharing->enter(make, error);
    else
        make();
}

void lead(const Opened &end, ipcmark_session *session, ipcmark_error *error) {
    const Leader leader = choose_place(end->plan);
    make_all(end, leader, error);
    for (uint32_t peer = 0; peer < session->peers; peer++)
        proceed(session->send(session, peer, &leader, sizeof leader, nullptr, 0, error));
    // A follower that cannot come so far is missed at once, not after the patience of match.
    for (uint32_t peer = 0; peer < session->peers; peer++) {
        size_t none = 0, len = 0;
        proceed(session->receive(session, peer, nullptr, &len, nullptr, &none, error));
    }
}

void follow(const Opened &end, ipcmark_session *session, ipcmark_error *error) {
    Leader leader{};
    size_t none = 0, len = sizeof leader;
    proceed(session->receive(session, 0, &leader, &len, nullptr, &none, error));
    leader.host[sizeof leader.host - 1] = '\0';
    make_all(end, leader, error);
    proceed(session->send(session, 0, nullptr, 0, nullptr, 0, error));
}

void join(const Opened &end, const ipcmark_settings &settings, ipcmark_session *session,
          ipcmark_error *error) {
    if (end->plan.shares) {
        end->sharing = std::make_shared<Sharing>(end->plan);
        end->sharing->open(settings, session, error);
    }
    if (end->plan.leads)
        lead(end, session, error);
    else
        follow(end, session, error);
    end->match();
    proceed(session->meet(session, error));
}

void delete_all(End &end) {
    if (end.taken)
        ddsi_serdata_unref(end.taken);
    if (end.lent)
        dds_return_loan(end.writer, &end.lent, 1);
    if (end.participant > 0)
        delete_domain(end.participant);
}

// Whether all of the library is gone. It joins its own threads, which may wait for somebody who is dead;
// and what it has left to do with iceoryx's daemon, it cannot do without it.
bool is_all_deleted(const Opened &end) {
    const auto deadline = std::chrono::steady_clock::now() + ENDS_WITHIN;
    const auto lives = [&] { return !end->sharing || !end->sharing->is_daemon_gone(); };
    const auto wanted = [&] { return lives() && std::chrono::steady_clock::now() < deadline; };
    std::string reason;
    return lives() && ipcmark::ask_daemon([end] { delete_all(*end); }, wanted, reason);
}

// What the library still uses stays with its threads.
void close(const Opened &end) {
    const bool all_is_gone = is_all_deleted(end);
    if (end->sharing)
        end->sharing->close(all_is_gone);
    if (!all_is_gone)
        static_cast<void>(new Opened(end));
}

} // namespace

// The library reads a profile when it makes a domain.
int check_options(const ipcmark_transport *, const ipcmark_option *options, uint32_t option_count,
                  ipcmark_error *error) {
    return guarded(error, [&] {
        ipcmark_settings settings{};
        settings.payload = 16;
        settings.subscribers = 1;
        settings.name = settings.directory = "check";
        settings.options = options;
        settings.option_count = option_count;
        const auto plan = make_plan(false, settings);
        listen_to_the_library();
        if (!plan.profile.empty())
            delete_domain(make_participant(plan, choose_place(plan)));
    });
}

int open_end(const ipcmark_transport *transport, const ipcmark_settings *settings,
             ipcmark_session *session, void **opened, ipcmark_error *error) {
    return guarded(error, [&] {
        listen_to_the_library();
        const auto end = std::make_shared<End>(make_plan(transport->context != nullptr, *settings));
        const int result = guarded(error, [&] { join(end, *settings, session, error); });
        if (result != IPCMARK_DONE)
            close(end);
        proceed(result);
        note_all(end->plan, session);
        if (!end->plan.reliable)
            session->may_lose(session);
        end->self = end;
        *opened = end.get();
    });
}

void close_end(void *opened) {
    const auto end = std::move(static_cast<End *>(opened)->self);
    close(end);
}

} // namespace cyclonedds_module
