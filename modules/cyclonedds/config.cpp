#include "config.hpp"

#include "shared/cpp/options.hpp"

#include <algorithm>

namespace cyclonedds_module {

using ipcmark::number;
using ipcmark::value;

namespace {

// The memory limits of a history, and its minimum and maximum number of messages.
constexpr uint64_t HISTORY_BYTES = 32 << 20, SHARED_BYTES = 8 << 20;
constexpr uint64_t LEAST_HISTORY = 8, LEAST_SHARED = 2;
constexpr uint64_t MOST_HISTORY = 1000, MOST_SHARED = 128;
// The messages that iceoryx keeps for a reader, however many writers it has.
constexpr uint32_t MOST_READ = 250;
constexpr uint32_t DOMAINS = 233;

constexpr ipcmark_option_spec RELIABILITY{"reliability", "reliable|best-effort", "reliable",
                                          "whether lost messages are sent again"};
constexpr ipcmark_option_spec DOMAIN{"domain", "0..232", "one that follows from the session's name", "the DDS domain"};
constexpr ipcmark_option_spec PROFILE{"profile", "FILE", "none",
                                      "configuration file of the library (XML): buffers, threads, times"};

uint64_t default_history(bool shares, uint64_t payload) {
    if (shares)
        return std::clamp(SHARED_BYTES / payload, LEAST_SHARED, MOST_SHARED);
    return std::clamp(HISTORY_BYTES / payload, LEAST_HISTORY, MOST_HISTORY);
}

} // namespace

const ipcmark_option_spec UDP_OPTIONS[] = {
    RELIABILITY,
    DOMAIN,
    {"history", "1..10000", "what 32 MiB hold, from 8 to 1000", "messages that an endpoint keeps"},
    PROFILE,
    {"socket-buffer", "64k..64M", "4 MiB", "bytes asked for in send and receive buffers of UDP"},
};
const ipcmark_option_spec SHARED_OPTIONS[] = {
    RELIABILITY,
    DOMAIN,
    {"history", "1..250", "what 8 MiB hold, from 2 to 128", "messages that an endpoint keeps"},
    PROFILE,
};

Config configure(bool shares, const ipcmark_settings &settings) {
    Config config{};
    config.shares = shares;
    config.leads = settings.role == IPCMARK_LEADER;
    config.spins = settings.wait == IPCMARK_SPIN;
    config.polls = settings.wait != IPCMARK_BLOCK;
    config.follower = settings.follower;
    config.followers = settings.subscribers;
    config.payload = settings.payload;
    config.name = settings.name;
    config.is_between_hosts = settings.address != nullptr;
    config.host = config.is_between_hosts ? settings.address : "127.0.0.1";
    config.reliable = value(settings, "reliability") != "best-effort";
    config.domain = number(settings, "domain", ipcmark::hash(config.name) % DOMAINS);
    config.history = number(settings, "history", default_history(shares, config.payload));
    if (shares)
        config.history = std::max(1u, std::min(config.history, MOST_READ / config.followers));
    config.socket_buffer = number(settings, "socket-buffer", 4 << 20);
    config.profile = value(settings, "profile");
    return config;
}

} // namespace cyclonedds_module
