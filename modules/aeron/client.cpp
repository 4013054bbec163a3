#include "client.hpp"

#include "driver.hpp"

#include "shared/cpp/within.hpp"

namespace aeron {

namespace {

// The library's default handler ends the process.
void keep_on(void *, int, const char *) {}

// Repeats a query until the media driver has answered; true if the driver did what was requested.
template <typename Ask> bool answered(Ask ask) {
    int answer = 0;
    return ipcmark::holds_within(ipcmark::CONNECTED_WITHIN, [&] { return (answer = ask()) != 0; }) && answer > 0;
}

int fail_unanswered(ipcmark_error *error, const char *operation, const std::string &channel) {
    const std::string said = aeron_errmsg();
    const char *const cause = said.empty() ? "the media driver does not answer" : said.c_str();
    return ipcmark_fail(error, operation, channel.c_str(), cause, nullptr);
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

int Client::connect(const std::string &directory, ipcmark_error *error) {
    constexpr uint64_t LIMIT_MS = std::chrono::milliseconds(ipcmark::CONNECTED_WITHIN).count();
    const bool is_connected = aeron_context_init(&context) == 0 &&
                              aeron_context_set_dir(context, directory.c_str()) == 0 &&
                              aeron_context_set_error_handler(context, keep_on, nullptr) == 0 &&
                              aeron_context_set_pre_touch_mapped_memory(context, true) == 0 &&
                              aeron_context_set_driver_timeout_ms(context, LIMIT_MS) == 0 &&
                              aeron_init(&client, context) == 0 && aeron_start(client) == 0;
    return is_connected ? IPCMARK_DONE : fail(error, "connect with", "Aeron's media driver");
}

int Client::subscribe(const std::string &channel, int32_t stream, ipcmark_error *error) {
    aeron_async_add_subscription_t *asked = nullptr;
    const bool is_done = aeron_async_add_subscription(&asked, client, channel.c_str(), stream, nullptr, nullptr,
                                                      nullptr, nullptr) == 0 &&
                         answered([&] { return aeron_async_add_subscription_poll(&subscription, asked); });
    return is_done ? IPCMARK_DONE : fail_unanswered(error, "subscribe to", channel);
}

int Client::publish_to(const std::string &channel, int32_t stream, ipcmark_error *error) {
    aeron_async_add_exclusive_publication_t *asked = nullptr;
    const bool is_done = aeron_async_add_exclusive_publication(&asked, client, channel.c_str(), stream) == 0 &&
                         answered([&] { return aeron_async_add_exclusive_publication_poll(&publication, asked); });
    return is_done ? IPCMARK_DONE : fail_unanswered(error, "publish to", channel);
}

int Client::await_endpoint(std::string *endpoint, ipcmark_error *error) const {
    char address[128] = "";
    const auto ask = [&] { return aeron_subscription_resolved_endpoint(subscription, address, sizeof address); };
    if (!answered(ask))
        return fail_unanswered(error, "listen at", "a UDP port");
    *endpoint = address;
    return IPCMARK_DONE;
}

int Client::await_peers(size_t count, ipcmark_error *error) {
    const auto are_there = [&] {
        return aeron_exclusive_publication_is_connected(publication) &&
               aeron_subscription_image_count(subscription) >= static_cast<int>(count);
    };
    if (!ipcmark::holds_within(ipcmark::CONNECTED_WITHIN, are_there))
        return ipcmark_fail(error, "connect with", "the other end by Aeron", "it does not come", nullptr);
    for (size_t n = 0; n < count; n++)
        images.push_back(aeron_subscription_image_at_index(subscription, n));
    return IPCMARK_DONE;
}

} // namespace aeron
