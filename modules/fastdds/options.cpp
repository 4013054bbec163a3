// The options of the rows, and the plan that follows from them.
#include "fastdds.hpp"

#include "../options.hpp"

#include <algorithm>

namespace fastdds_module {

using ipcmark::hash;
using ipcmark::is_on;
using ipcmark::number;
using ipcmark::value;

namespace {

// What a writer's history may take, and how many messages it holds at least and at most.
constexpr uint64_t HISTORY_BYTES = 32 << 20;
constexpr uint64_t LEAST_HISTORY = 8, MOST_HISTORY = 1000;
// With data sharing 2.9 acknowledges a message and then looks whether it is still whole. A writer with
// a full history that is given up on takes the memory that has been free for longest each time: there
// has to be more of it than one tries while a reader is off the processor.
constexpr uint64_t SPARE_BYTES = 4 << 20;
constexpr uint64_t LEAST_SPARE = 2, MOST_SPARE = 64;
constexpr uint32_t DOMAINS = 233;

#define RELIABILITY                                                                                \
    {"reliability", "reliable|best-effort", "reliable", "whether lost messages are sent again"}
#define DOMAIN                                                                                     \
    {"domain", "0..232", "one that follows from the session's name", "the DDS domain"}
#define HISTORY                                                                                    \
    {"history", "1..10000", "what 32 MiB hold, from 8 to 1000", "messages that an endpoint keeps"}
#define PROFILE {"profile", "FILE", "none", "XML file with default profiles of the library"}
#define SHARED_MEMORY                                                                              \
    {"shared-memory", "on|off", "on", "the library's shared-memory transport beside UDP"}
#define SEGMENT                                                                                    \
    {"segment-size", "512k..1024M", "4 MiB and five messages", "bytes of the shared-memory transport"}
#define SOCKET_BUFFER                                                                              \
    {"socket-buffer", "64k..64M", "4 MiB", "bytes asked for in send and receive buffers of UDP"}

} // namespace

const ipcmark_option_spec default_options[default_option_count] = {
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
const ipcmark_option_spec udp_options[udp_option_count] = {RELIABILITY, DOMAIN, HISTORY, PROFILE,
                                                           SOCKET_BUFFER};
const ipcmark_option_spec shm_options[shm_option_count] = {RELIABILITY, DOMAIN, HISTORY, PROFILE,
                                                           SEGMENT};
const ipcmark_option_spec data_sharing_options[data_sharing_option_count] = {
    RELIABILITY, DOMAIN, HISTORY, PROFILE, SHARED_MEMORY};
const ipcmark_option_spec intra_options[intra_option_count] = {RELIABILITY, DOMAIN, PROFILE};
const ipcmark_option_spec secure_options[secure_option_count] = {
    RELIABILITY,
    DOMAIN,
    HISTORY,
    PROFILE,
    SOCKET_BUFFER,
    {"certificates", "DIR", "made for the session", "certificates, governance and permissions"},
};

namespace {

Sharing sharing(const ipcmark_settings &settings, Sharing standard) {
    const auto text = value(settings, "data-sharing");
    if (text.empty())
        return standard;
    return text == "on" ? Sharing::On : text == "off" ? Sharing::Off : Sharing::Automatic;
}

} // namespace

Plan make_plan(const Row &row, const ipcmark_settings &settings) {
    const auto held = std::clamp(HISTORY_BYTES / settings.payload, LEAST_HISTORY, MOST_HISTORY);
    Plan plan{};
    plan.leads = settings.role == IPCMARK_LEADER;
    plan.spins = settings.wait == IPCMARK_SPIN;
    plan.polls = settings.wait != IPCMARK_BLOCK;
    plan.follower = settings.follower;
    plan.followers = settings.subscribers;
    plan.payload = settings.payload;
    plan.name = settings.name;
    plan.directory = settings.directory;
    plan.apart = settings.address != nullptr;
    plan.host = plan.apart ? settings.address : "127.0.0.1";
    plan.udp = row.udp;
    plan.shm = row.shm && is_on(settings, "shared-memory", true);
    plan.loans = is_on(settings, "loans", row.loans);
    plan.secure = row.secure;
    plan.reliable = value(settings, "reliability") != "best-effort";
    plan.sharing = sharing(settings, row.sharing);
    plan.domain = number(settings, "domain", hash(plan.name) % DOMAINS);
    plan.history = number(settings, "history", held);
    plan.spare = std::clamp(SPARE_BYTES / settings.payload, LEAST_SPARE, MOST_SPARE);
    plan.segment = number(settings, "segment-size", (4 << 20) + 5 * settings.payload);
    plan.socket_buffer = number(settings, "socket-buffer", 4 << 20);
    plan.certificates = value(settings, "certificates");
    plan.profile = value(settings, "profile");
    return plan;
}

std::string pool_directory(const std::string &session) {
    return "/dev/shm/" + session + "-pools";
}

std::string leaders_topic(const Plan &plan) {
    return plan.name + "-" + std::to_string(plan.opening) + "-0";
}

std::string followers_topic(const Plan &plan) {
    return plan.name + "-" + std::to_string(plan.opening) + "-1";
}

} // namespace fastdds_module
