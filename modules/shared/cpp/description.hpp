// Descriptions of transports and modules: a replacement for C's designated initializers.
#pragma once

#include <ipcmark/transport.h>

#include <cstddef>

namespace ipcmark {

// A transport for messages of up to 4 MiB between two ends, with the pattern `latency`. The caller sets its functions,
// and all fields that differ.
inline ipcmark_transport describe_transport(const char *name, const char *summary, uint32_t waits, uint32_t flags) {
    ipcmark_transport transport{};
    transport.size = sizeof transport;
    transport.flags = flags;
    transport.name = name;
    transport.summary = summary;
    transport.max_payload = 4 << 20;
    transport.waits = waits;
    transport.patterns = IPCMARK_LATENCY;
    transport.max_subscribers = 1;
    return transport;
}

template <size_t N> void set_options(ipcmark_transport &transport, const ipcmark_option_spec (&options)[N]) {
    transport.options = options;
    transport.option_count = N;
}

// Names the possible leftovers of killed sessions: see ipcmark_module.
using NameLeftovers = int (*)(void (*file)(void *list, const char *path), void *list, ipcmark_error *error);

// A module with an array of transports that lives as long as the process.
template <size_t N>
struct ipcmark_module describe_module(const char *family, const char *(*library_version)(),
                                      const ipcmark_transport *const (&transports)[N],
                                      NameLeftovers leftovers = nullptr) {
    struct ipcmark_module module{};
    module.size = sizeof module;
    module.abi_version = IPCMARK_ABI_VERSION;
    module.family = family;
    module.library_version = library_version;
    module.transports = transports;
    module.transport_count = N;
    module.leftovers = leftovers;
    return module;
}

} // namespace ipcmark
