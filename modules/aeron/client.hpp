// A client of a media driver, with one publication and one subscription.
#pragma once

#include "shared/cpp/within.hpp"

#include <ipcmark/transport.h>

#include <string>
#include <vector>

#include <aeronc.h>

namespace aeron {

struct Client {
    Client() = default;
    Client(const Client &) = delete;
    Client &operator=(const Client &) = delete;
    ~Client();

    // All waits for the driver and the other endpoints end at the deadline.
    int connect(const std::string &directory, const ipcmark::Deadline &deadline, ipcmark_error *error);
    int subscribe(const std::string &channel, int32_t stream, const ipcmark::Deadline &deadline, ipcmark_error *error);
    int publish_to(const std::string &channel, int32_t stream, const ipcmark::Deadline &deadline, ipcmark_error *error);

    // The endpoint of a subscription to port 0, once the system has chosen a port.
    int await_endpoint(std::string *endpoint, const ipcmark::Deadline &deadline, ipcmark_error *error) const;

    // Waits until the publication has a subscriber, and the subscription this many publishers.
    int await_peers(size_t count, const ipcmark::Deadline &deadline, ipcmark_error *error);

    aeron_exclusive_publication_t *publication = nullptr;
    aeron_subscription_t *subscription = nullptr;
    std::vector<aeron_image_t *> images; // One for each publisher.

  private:
    aeron_context_t *context = nullptr;
    aeron_t *client = nullptr;
};

} // namespace aeron
