#include "config.hpp"

#include "shared/cpp/options.hpp"

#include <algorithm>

namespace fastdds_module {

using ipcmark::hash;
using ipcmark::is_on;
using ipcmark::number;
using ipcmark::value;

namespace {

// The memory limit of a writer's history, and its minimum and maximum number of messages.
constexpr uint64_t HISTORY_BYTES = 32 << 20;
constexpr uint64_t LEAST_HISTORY = 8, MOST_HISTORY = 1000;
// With data sharing, 2.9 acknowledges a message and only then checks that it is still intact. Each attempt to write
// into a full history overwrites the memory that has been free for longest: there must be more spare memory than a
// writer's attempts while a reader is not scheduled.
constexpr uint64_t SPARE_BYTES = 4 << 20;
constexpr uint64_t LEAST_SPARE = 2, MOST_SPARE = 64;
constexpr uint32_t DOMAINS = 233;

constexpr ipcmark_option_spec RELIABILITY{"reliability", "reliable|best-effort", "reliable",
                                          "whether lost messages are sent again"};
constexpr ipcmark_option_spec DOMAIN{"domain", "0..232", "one that follows from the session's name", "the DDS domain"};
constexpr ipcmark_option_spec HISTORY{"history", "1..10000", "what 32 MiB hold, from 8 to 1000",
                                      "messages that an endpoint keeps"};
constexpr ipcmark_option_spec PROFILE{"profile", "FILE", "none", "XML file with default profiles of the library"};
constexpr ipcmark_option_spec SHARED_MEMORY{"shared-memory", "on|off", "on",
                                            "the library's shared-memory transport beside UDP"};
constexpr ipcmark_option_spec SEGMENT{"segment-size", "512k..1024M", "4 MiB and five messages",
                                      "bytes of the shared-memory transport"};
constexpr ipcmark_option_spec SOCKET_BUFFER{"socket-buffer", "64k..64M", "4 MiB",
                                            "bytes asked for in send and receive buffers of UDP"};
constexpr ipcmark_option_spec CERTIFICATES{"certificates", "DIR", "made for the session",
                                           "certificates, governance and permissions"};

Sharing sharing(const ipcmark_settings &settings, Sharing otherwise) {
    const auto text = value(settings, "data-sharing");
    if (text.empty())
        return otherwise;
    return text == "on" ? Sharing::On : text == "off" ? Sharing::Off : Sharing::Automatic;
}

} // namespace

const ipcmark_option_spec DEFAULT_OPTIONS[] = {
    RELIABILITY,
    DOMAIN,
    HISTORY,
    PROFILE,
    SHARED_MEMORY,
    SEGMENT,
    SOCKET_BUFFER,
    {"data-sharing", "on|off|auto", "auto", "whether readers map the writers' memory"},
    {"loans", "on|off", "off", "whether messages are written and read in place"},
};
const ipcmark_option_spec UDP_OPTIONS[] = {RELIABILITY, DOMAIN, HISTORY, PROFILE, SOCKET_BUFFER};
const ipcmark_option_spec SHM_OPTIONS[] = {RELIABILITY, DOMAIN, HISTORY, PROFILE, SEGMENT};
const ipcmark_option_spec DATA_SHARING_OPTIONS[] = {RELIABILITY, DOMAIN, HISTORY, PROFILE, SHARED_MEMORY};
const ipcmark_option_spec INTRA_OPTIONS[] = {RELIABILITY, DOMAIN, PROFILE};
const ipcmark_option_spec SECURE_OPTIONS[] = {RELIABILITY, DOMAIN, HISTORY, PROFILE, SOCKET_BUFFER, CERTIFICATES};

Config configure(const Defaults &defaults, const ipcmark_settings &settings) {
    const auto held = std::clamp(HISTORY_BYTES / settings.payload, LEAST_HISTORY, MOST_HISTORY);
    Config config{};
    config.leads = settings.role == IPCMARK_LEADER;
    config.spins = settings.wait == IPCMARK_SPIN;
    config.polls = settings.wait != IPCMARK_BLOCK;
    config.follower = settings.follower;
    config.followers = settings.subscribers;
    config.payload = settings.payload;
    config.name = settings.name;
    config.directory = settings.directory;
    config.is_between_hosts = settings.address != nullptr;
    config.host = config.is_between_hosts ? settings.address : "127.0.0.1";
    config.udp = defaults.udp;
    config.shm = defaults.shm && is_on(settings, "shared-memory", true);
    config.loans = is_on(settings, "loans", defaults.loans);
    config.secure = defaults.secure;
    config.reliable = value(settings, "reliability") != "best-effort";
    config.sharing = sharing(settings, defaults.sharing);
    config.domain = number(settings, "domain", hash(config.name) % DOMAINS);
    config.history = number(settings, "history", held);
    config.spare = std::clamp(SPARE_BYTES / settings.payload, LEAST_SPARE, MOST_SPARE);
    config.segment = number(settings, "segment-size", (4 << 20) + 5 * settings.payload);
    config.socket_buffer = number(settings, "socket-buffer", 4 << 20);
    config.certificates = value(settings, "certificates");
    config.profile = value(settings, "profile");
    return config;
}

std::string pool_directory(const std::string &session) {
    return "/dev/shm/" + session + "-pools";
}

std::string leader_topic(const Config &config) {
    return config.name + "-" + std::to_string(config.opening) + "-0";
}

std::string follower_topic(const Config &config) {
    return config.name + "-" + std::to_string(config.opening) + "-1";
}

} // namespace fastdds_module
