#include "client.hpp"

#include "driver.hpp"

#include <algorithm>
#include <chrono>

namespace aeron {

namespace {

// The library's default. A client also gives up a driver that was silent for that long while messages flow.
constexpr std::chrono::milliseconds DRIVER_SILENT{10000};

// The library's default handler ends the process.
void keep_on(void *, int, const char *) {}

// Repeats a query until the media driver has answered; true if the driver did what was requested.
template <typename Ask> bool answered(const ipcmark::Deadline &deadline, Ask ask) {
    int answer = 0;
    return ipcmark::holds_by(deadline, [&] { return (answer = ask()) != 0; }) && answer > 0;
}

int fail_unanswered(ipcmark_error *error, const char *operation, const std::string &channel,
                    const ipcmark::Deadline &deadline) {
    // Without an error its message is "no error".
    const std::string cause =
        aeron_errcode() == 0 ? deadline.missed("the media driver does not answer") : aeron_errmsg();
    return ipcmark_fail(error, operation, channel.c_str(), cause.c_str(), nullptr);
}

} // namespace

// Closing a client closes all its resources.
Client::~Client() {
    for (auto *const image : images)
        aeron_image_release(image);
    if (client)
        aeron_close(client);
    if (context)
        aeron_context_close(context);
}

int Client::connect(const std::string &directory, const ipcmark::Deadline &deadline, ipcmark_error *error) {
    const auto limit_ms = static_cast<uint64_t>(std::max(deadline.left(), DRIVER_SILENT).count());
    const bool is_connected = aeron_context_init(&context) == 0 &&
                              aeron_context_set_dir(context, directory.c_str()) == 0 &&
                              aeron_context_set_error_handler(context, keep_on, nullptr) == 0 &&
                              aeron_context_set_pre_touch_mapped_memory(context, true) == 0 &&
                              aeron_context_set_driver_timeout_ms(context, limit_ms) == 0 &&
                              aeron_init(&client, context) == 0 && aeron_start(client) == 0;
    return is_connected ? IPCMARK_DONE : fail(error, "connect with", "Aeron's media driver");
}

int Client::subscribe(const std::string &channel, int32_t stream, const ipcmark::Deadline &deadline,
                      ipcmark_error *error) {
    aeron_async_add_subscription_t *asked = nullptr;
    const bool is_done = aeron_async_add_subscription(&asked, client, channel.c_str(), stream, nullptr, nullptr,
                                                      nullptr, nullptr) == 0 &&
                         answered(deadline, [&] { return aeron_async_add_subscription_poll(&subscription, asked); });
    return is_done ? IPCMARK_DONE : fail_unanswered(error, "subscribe to", channel, deadline);
}

int Client::publish_to(const std::string &channel, int32_t stream, const ipcmark::Deadline &deadline,
                       ipcmark_error *error) {
    aeron_async_add_exclusive_publication_t *asked = nullptr;
    const bool is_done =
        aeron_async_add_exclusive_publication(&asked, client, channel.c_str(), stream) == 0 &&
        answered(deadline, [&] { return aeron_async_add_exclusive_publication_poll(&publication, asked); });
    return is_done ? IPCMARK_DONE : fail_unanswered(error, "publish to", channel, deadline);
}

int Client::await_endpoint(std::string *endpoint, const ipcmark::Deadline &deadline, ipcmark_error *error) const {
    char address[128] = "";
    const auto ask = [&] { return aeron_subscription_resolved_endpoint(subscription, address, sizeof address); };
    if (!answered(deadline, ask))
        return fail_unanswered(error, "listen at", "a UDP port", deadline);
    *endpoint = address;
    return IPCMARK_DONE;
}

int Client::await_peers(size_t count, const ipcmark::Deadline &deadline, ipcmark_error *error) {
    const auto are_there = [&] {
        return aeron_exclusive_publication_is_connected(publication) &&
               aeron_subscription_image_count(subscription) >= static_cast<int>(count);
    };
    if (!ipcmark::holds_by(deadline, are_there))
        return ipcmark_fail(error, "connect with", "the other end by Aeron",
                            deadline.missed("it does not come").c_str(), nullptr);
    for (size_t n = 0; n < count; n++)
        images.push_back(aeron_subscription_image_at_index(subscription, n));
    return IPCMARK_DONE;
}

} // namespace aeron
