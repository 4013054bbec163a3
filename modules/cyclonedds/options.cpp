// The options of the rows, and the plan that follows from them.
#include "cyclonedds.hpp"

#include "../options.hpp"

#include <algorithm>

namespace cyclonedds_module {

using ipcmark::number;
using ipcmark::value;

namespace {

// What a history may take, and how many messages it holds at least and at most.
constexpr uint64_t HISTORY_BYTES = 32 << 20, SHARED_BYTES = 8 << 20;
constexpr uint64_t LEAST_HISTORY = 8, LEAST_SHARED = 2;
constexpr uint64_t MOST_HISTORY = 1000, MOST_SHARED = 128;
// What iceoryx keeps for a reader, whatever the number of its writers.
constexpr uint32_t MOST_READ = 250;
constexpr uint32_t DOMAINS = 233;

#define RELIABILITY                                                                                \
    {"reliability", "reliable|best-effort", "reliable", "whether lost messages are sent again"}
#define DOMAIN                                                                                     \
    {"domain", "0..232", "one that follows from the session's name", "the DDS domain"}
#define PROFILE                                                                                    \
    {"profile", "FILE", "none", "configuration file of the library (XML): buffers, threads, times"}

uint64_t history(bool shares, uint64_t payload) {
    if (shares)
        return std::clamp(SHARED_BYTES / payload, LEAST_SHARED, MOST_SHARED);
    return std::clamp(HISTORY_BYTES / payload, LEAST_HISTORY, MOST_HISTORY);
}

} // namespace

const ipcmark_option_spec udp_options[udp_option_count] = {
    RELIABILITY,
    DOMAIN,
    {"history", "1..10000", "what 32 MiB hold, from 8 to 1000", "messages that an endpoint keeps"},
    PROFILE,
    {"socket-buffer", "64k..64M", "4 MiB", "bytes asked for in send and receive buffers of UDP"},
};
const ipcmark_option_spec shared_options[shared_option_count] = {
    RELIABILITY,
    DOMAIN,
    {"history", "1..250", "what 8 MiB hold, from 2 to 128", "messages that an endpoint keeps"},
    PROFILE,
};

Plan make_plan(bool shares, const ipcmark_settings &settings) {
    Plan plan{};
    plan.shares = shares;
    plan.leads = settings.role == IPCMARK_LEADER;
    plan.spins = settings.wait == IPCMARK_SPIN;
    plan.polls = settings.wait != IPCMARK_BLOCK;
    plan.follower = settings.follower;
    plan.followers = settings.subscribers;
    plan.payload = settings.payload;
    plan.name = settings.name;
    plan.apart = settings.address != nullptr;
    plan.host = plan.apart ? settings.address : "127.0.0.1";
    plan.reliable = value(settings, "reliability") != "best-effort";
    plan.domain = number(settings, "domain", ipcmark::hash(plan.name) % DOMAINS);
    plan.history = number(settings, "history", history(shares, plan.payload));
    if (shares)
        plan.history = std::max(1u, std::min(plan.history, MOST_READ / plan.followers));
    plan.socket_buffer = number(settings, "socket-buffer", 4 << 20);
    plan.profile = value(settings, "profile");
    return plan;
}

} // namespace cyclonedds_module
