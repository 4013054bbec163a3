// A bare program of NATS, the baseline for nats.
#include "server.hpp"

#include "shared/c/bare.h"

#include <nats/nats.h>
#include <sys/stat.h>

namespace {

struct End {
    nats::Server server; // Only in the leader.
    std::string directory;
    natsOptions *options = nullptr;
    natsConnection *connection = nullptr;
    natsSubscription *subscription = nullptr;
    const char *sent_to = nullptr;
    char *outgoing = nullptr;
};

void require(natsStatus status, const char *what) {
    if (status != NATS_OK)
        bare_fail(what);
}

// The leader starts the server, and sends its URL.
void open_server(End *self, const struct bare *bare, char (&url)[128]) {
    ipcmark_error error{};
    if (!bare->leads) {
        if (read(bare->peer, url, sizeof url) != sizeof url)
            bare_fail("receive a URL");
        return;
    }
    self->directory = std::string("/tmp/") + bare->name;
    if (mkdir(self->directory.c_str(), 0700) != 0 ||
        self->server.start(self->directory, nats::Limits{bare->payload},
                           ipcmark::Deadline(std::chrono::seconds(BARE_CONNECTS_WITHIN_S)), &error) != IPCMARK_DONE)
        bare_fail("start nats-server");
    snprintf(url, sizeof url, "%s", self->server.url().c_str());
    if (write(bare->peer, url, sizeof url) != sizeof url)
        bare_fail("send a URL");
}

} // namespace

static void *bare_open(const struct bare *bare) {
    auto *self = new End;
    char url[128];
    open_server(self, bare, url);
    self->sent_to = bare->leads ? "there" : "back";
    require(natsOptions_Create(&self->options), "make options");
    require(natsOptions_SetURL(self->options, url), "set the URL");
    require(natsOptions_SetSendAsap(self->options, true), "send at once");
    require(natsConnection_Connect(&self->connection, self->options), "connect with nats-server");
    const char *const taken_from = bare->leads ? "back" : "there";
    require(natsConnection_SubscribeSync(&self->subscription, self->connection, taken_from), "subscribe");
    require(natsConnection_Flush(self->connection), "subscribe");
    self->outgoing = new char[bare->payload]();
    return self;
}

static void bare_send(void *end, const struct bare *bare, uint64_t number) {
    auto *self = static_cast<End *>(end);
    bare_write(self->outgoing, number);
    require(natsConnection_Publish(self->connection, self->sent_to, self->outgoing, static_cast<int>(bare->payload)),
            "send");
}

static uint64_t bare_receive(void *end, const struct bare *bare) {
    auto *self = static_cast<End *>(end);
    natsMsg *message = nullptr;
    natsStatus status = NATS_TIMEOUT;
    while (status == NATS_TIMEOUT)
        status = natsSubscription_NextMsg(&message, self->subscription, bare->spins ? 0 : 100);
    require(status, "receive");
    if (static_cast<size_t>(natsMsg_GetDataLength(message)) != bare->payload)
        bare_fail("receive a whole message");
    const uint64_t number = bare_read(natsMsg_GetData(message));
    natsMsg_Destroy(message);
    return number;
}

static void bare_close(void *end) {
    auto *self = static_cast<End *>(end);
    const std::string directory = self->directory;
    natsSubscription_Destroy(self->subscription);
    natsConnection_Destroy(self->connection);
    natsOptions_Destroy(self->options);
    delete[] self->outgoing;
    delete self;
    if (!directory.empty())
        rmdir(directory.c_str());
}

int main(int argc, char **argv) {
    return bare_main(argc, argv);
}
