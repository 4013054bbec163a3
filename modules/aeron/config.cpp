#include "config.hpp"

#include "shared/cpp/options.hpp"

#include <algorithm>
#include <cstring>

#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

namespace aeron {

namespace {

// A message fills at most an eighth of a term; a log has three terms.
constexpr size_t MESSAGES_IN_TERM = 8, TERMS = 3;
// Small terms stay in the processors' caches. But a sender may be ahead by half a term, which must last for the
// millisecond that a driver may sleep.
constexpr size_t LEAST_TERM = 2 << 20, LARGE_TERM = 32 << 20, USUAL_MESSAGES = 64;
// From Aeron's aeron-ipc.properties and aeron-throughput.properties, and low-latency.properties.
constexpr size_t MTU = 8 << 10, WINDOW = 2 << 20;
// The size of a driver's files without the logs, rounded up: with the library's default number of counters they take 48
// MiB, nearly all of a container's /dev/shm.
constexpr size_t DRIVER_BYTES = 13 << 20;
constexpr const char *COUNTERS = "AERON_COUNTERS_BUFFER_LENGTH=1m";

size_t fitting_term(size_t payload) {
    size_t term = LEAST_TERM;
    while (term < MESSAGES_IN_TERM * payload || (term < USUAL_MESSAGES * payload && term < LARGE_TERM))
        term *= 2;
    return term;
}

// True if a UDP socket may have buffers of this size, which net.core.rmem_max and wmem_max limit.
bool is_granted(int bytes) {
    const int probe = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool granted = probe >= 0;
    for (const int name : {SO_RCVBUF, SO_SNDBUF}) {
        int given = 0;
        socklen_t len = sizeof given;
        granted = granted && setsockopt(probe, SOL_SOCKET, name, &bytes, sizeof bytes) == 0 &&
                  getsockopt(probe, SOL_SOCKET, name, &given, &len) == 0 && given >= 2 * bytes;
    }
    if (probe >= 0)
        close(probe);
    return granted;
}

size_t processors() {
    const cpu_set_t usable = ipcmark::usable_processors();
    return static_cast<size_t>(CPU_COUNT(&usable));
}

// True if this many driver threads can poll, each on its own processor, and one processor is left for the system.
bool is_room_for(size_t threads, const ipcmark_settings &settings) {
    return processors() > 1 + settings.subscribers + threads;
}

int fail_option(ipcmark_error *error, const char *key, const char *value, const char *cause) {
    const std::string object = std::string(key) + "=" + value;
    return ipcmark_fail(error, "use", object.c_str(), cause, nullptr);
}

} // namespace

int configure(const ipcmark_settings &settings, bool is_network, Config *config, ipcmark_error *error) {
    const auto threading = ipcmark::value(settings, "threading"), idle = ipcmark::value(settings, "driver-idle");
    config->is_network = is_network;
    config->is_process = !is_network && ipcmark::value(settings, "driver") != "embedded";
    config->is_dedicated = threading.empty() ? is_network && is_room_for(6, settings) : threading == "dedicated";
    const size_t drivers = is_network ? 2 : 1, threads = config->is_dedicated ? 3 * drivers : drivers;
    config->spins = idle.empty() ? is_room_for(threads, settings) : idle == "spin";
    config->term_length = ipcmark::number(settings, "term-length", fitting_term(settings.payload));
    config->mtu = ipcmark::number(settings, "mtu", MTU);
    config->window = is_network && is_granted(WINDOW) ? std::min(WINDOW, config->term_length / 2) : 0;
    if (config->term_length / MESSAGES_IN_TERM >= settings.payload)
        return IPCMARK_DONE;
    const std::string object = "messages of " + std::to_string(settings.payload) + " bytes",
                      cause = "terms of " + std::to_string(config->term_length) + " bytes carry those of up to " +
                              std::to_string(config->term_length / MESSAGES_IN_TERM),
                      remedy = "term-length=" + std::to_string(fitting_term(settings.payload));
    return ipcmark_fail(error, "carry", object.c_str(), cause.c_str(), remedy.c_str());
}

int check_options(const ipcmark_option *options, uint32_t count, ipcmark_error *error) {
    for (const auto *option = options; option != options + count; option++) {
        const size_t number = std::strtoull(option->value, nullptr, 10);
        if (std::strcmp(option->key, "term-length") == 0 && (number & (number - 1)) != 0)
            return fail_option(error, option->key, option->value, "it is no power of two");
        if (std::strcmp(option->key, "mtu") == 0 && number % HEADER != 0)
            return fail_option(error, option->key, option->value, "it is no multiple of 32");
    }
    return IPCMARK_DONE;
}

ipcmark::Texts variables(const Config &config) {
    const std::string spin = config.spins ? "spin" : "backoff", noop = config.spins ? "noop" : "backoff";
    ipcmark::Texts all = {std::string("AERON_THREADING_MODE=") + (config.is_dedicated ? "DEDICATED" : "SHARED"),
                          "AERON_SHARED_IDLE_STRATEGY=" + spin,
                          "AERON_CONDUCTOR_IDLE_STRATEGY=" + spin,
                          "AERON_SENDER_IDLE_STRATEGY=" + noop,
                          "AERON_RECEIVER_IDLE_STRATEGY=" + noop,
                          "AERON_TERM_BUFFER_SPARSE_FILE=0",
                          "AERON_THREAD_NAMING=new",
                          COUNTERS};
    if (config.window > 0) {
        const auto bytes = std::to_string(WINDOW);
        all.insert(all.end(), {"AERON_SOCKET_SO_RCVBUF=" + bytes, "AERON_SOCKET_SO_SNDBUF=" + bytes,
                               "AERON_RCV_INITIAL_WINDOW_LENGTH=" + std::to_string(config.window)});
    }
    return all;
}

std::string channel(const Config &config, const std::string &endpoint) {
    return (config.is_network ? "aeron:udp?endpoint=" + endpoint + "|" : "aeron:ipc?") +
           "term-length=" + std::to_string(config.term_length) + "|mtu=" + std::to_string(config.mtu);
}

size_t space(const Config &config, size_t logs) {
    return logs * TERMS * config.term_length + (config.is_network ? 2 : 1) * DRIVER_BYTES;
}

void note(const Config &config, ipcmark_session *session) {
    session->note(session, "driver", config.is_process ? "process" : "embedded");
    session->note(session, "threading", config.is_dedicated ? "dedicated" : "shared");
    session->note(session, "driver-idle", config.spins ? "spin" : "backoff");
    session->note(session, "term-length", std::to_string(config.term_length).c_str());
    session->note(session, "mtu", std::to_string(config.mtu).c_str());
    if (config.is_network)
        session->note(session, "window", config.window > 0 ? std::to_string(config.window).c_str() : "the library's");
}

} // namespace aeron
