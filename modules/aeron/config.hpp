// How an end's media driver and its channels are set, from the user's options or as Aeron's own settings have it.
#pragma once

#include "shared/cpp/program.hpp"

#include <ipcmark/transport.h>

#include <string>

namespace aeron {

struct Config {
    bool is_network;   // UDP, with a driver for each end; else shared memory and the leader's driver.
    bool is_process;   // The driver is a program, else threads of this one.
    bool is_dedicated; // Three threads in a driver, else one.
    bool spins;        // They poll without sleeping.
    size_t term_length, mtu;
    size_t window; // What a receiver lets its sender be ahead; 0: what the library has.
};

// What a packet or fragment has beside its part of the message.
constexpr size_t HEADER = 32;

// Fails if the terms are too short for the payload.
int configure(const ipcmark_settings &settings, bool is_network, Config *config, ipcmark_error *error);

// Whether what the user set is what Aeron accepts; for `check`.
int check_options(const ipcmark_option *options, uint32_t count, ipcmark_error *error);

// The variables of the environment by which a driver is set.
ipcmark::Texts variables(const Config &config);

// The channel of a publication, or of a subscription.
std::string channel(const Config &config, const std::string &endpoint);

// Bytes in /dev/shm for so many logs and the drivers of all ends.
size_t space(const Config &config, size_t logs);

void note(const Config &config, ipcmark_session *session);

} // namespace aeron
