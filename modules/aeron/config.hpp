// The settings of an endpoint's media driver and its channels, from the user's options or Aeron's defaults.
#pragma once

#include "shared/cpp/program.hpp"

#include <ipcmark/transport.h>

#include <string>

namespace aeron {

struct Config {
    bool is_network;   // UDP, with a driver for each endpoint; else shared memory and the leader's driver.
    bool is_process;   // The driver is a program, else threads of this process.
    bool is_dedicated; // Three threads in a driver, else one.
    bool spins;        // They poll without sleeping.
    size_t term_length, mtu;
    size_t window; // The bytes that a sender may be ahead of its receiver; 0: the library's default.
};

// The bytes of a packet or fragment in addition to its part of the message.
constexpr size_t HEADER = 32;

// Fails if the terms are too short for the payload.
int configure(const ipcmark_settings &settings, bool is_network, Config *config, ipcmark_error *error);

// Checks that Aeron accepts the user's options; for `check`.
int check_options(const ipcmark_option *options, uint32_t count, ipcmark_error *error);

// The environment variables that configure a driver.
ipcmark::Texts variables(const Config &config);

// The channel of a publication, or of a subscription.
std::string channel(const Config &config, const std::string &endpoint);

// The bytes in /dev/shm for this many logs and the drivers of all endpoints.
size_t space(const Config &config, size_t logs);

void note(const Config &config, ipcmark_session *session);

} // namespace aeron
