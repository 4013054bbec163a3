// A bare program of PUBLISH and SUBSCRIBE with hiredis, the baseline for redis-pubsub; if IS_LIST, of RPUSH and BLPOP,
// the baseline for redis-list.
#include "server.hpp"

#include "shared/c/bare.h"

#include <cerrno>

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <sys/stat.h>

namespace {

// The number of answers that the row leaves unread.
constexpr int MOST_UNANSWERED = 16;

struct End {
    redis::Server server; // Only in the leader.
    redisContext *out = nullptr, *in = nullptr;
    const char *sent_to = nullptr, *taken_from = nullptr;
    char *outgoing = nullptr;
    int unanswered = 0;
};

redisContext *connect(const char *path) {
    redisContext *const context = redisConnectUnixNonBlock(path);
    if (!context || context->err)
        bare_fail("connect with redis-server");
    context->reader->maxbuf = 0;
    fcntl(context->fd, F_SETFL, 0);
    return context;
}

redisReply *next(redisContext *context) {
    void *reply = nullptr;
    while (redisGetReplyFromReader(context, &reply) == REDIS_OK && !reply)
        if (redisBufferRead(context) != REDIS_OK)
            bare_fail("receive");
    if (!reply || static_cast<redisReply *>(reply)->type == REDIS_REPLY_ERROR)
        bare_fail("get an answer");
    return static_cast<redisReply *>(reply);
}

void flush(redisContext *context) {
    for (int done = 0; !done;)
        if (redisBufferWrite(context, &done) != REDIS_OK)
            bare_fail("send");
}

void subscribe(End *self) {
    redisAppendCommand(self->in, "SUBSCRIBE %s", self->taken_from);
    flush(self->in);
    freeReplyObject(next(self->in));
}

void ask_for_one(End *self) {
    const char *words[] = {"BLPOP", self->taken_from, "0"};
    const size_t lengths[] = {5, strlen(self->taken_from), 1};
    redisAppendCommandArgv(self->in, 3, words, lengths);
    flush(self->in);
}

// The leader starts the server, and sends its path.
void open_server(End *self, const struct bare *bare, char (&path)[128]) {
    const std::string directory = std::string("/tmp/") + bare->name;
    ipcmark_error error{};
    if (!bare->leads) {
        if (read(bare->peer, path, sizeof path) != sizeof path)
            bare_fail("receive a path");
        return;
    }
    if (mkdir(directory.c_str(), 0700) != 0 ||
        self->server.start(directory, ipcmark::Deadline(std::chrono::seconds(BARE_CONNECTS_WITHIN_S)), &error) !=
            IPCMARK_DONE)
        bare_fail("start redis-server");
    snprintf(path, sizeof path, "%s", self->server.path().c_str());
    if (write(bare->peer, path, sizeof path) != sizeof path)
        bare_fail("send a path");
}

} // namespace

static void *bare_open(const struct bare *bare) {
    auto *self = new End;
    char path[128];
    open_server(self, bare, path);
    self->out = connect(path), self->in = connect(path);
    self->sent_to = bare->leads ? "there" : "back";
    self->taken_from = bare->leads ? "back" : "there";
    if (!IS_LIST)
        subscribe(self);
    for (const redisContext *const context : {self->out, self->in})
        if (bare->spins)
            fcntl(context->fd, F_SETFL, O_NONBLOCK);
    self->outgoing = new char[bare->payload]();
    return self;
}

static void bare_send(void *end, const struct bare *bare, uint64_t number) {
    auto *self = static_cast<End *>(end);
    bare_write(self->outgoing, number);
    const char *words[] = {IS_LIST ? "RPUSH" : "PUBLISH", self->sent_to, self->outgoing};
    const size_t lengths[] = {IS_LIST ? 5u : 7u, strlen(self->sent_to), bare->payload};
    if (self->unanswered == MOST_UNANSWERED) {
        freeReplyObject(next(self->out));
        self->unanswered--;
    }
    redisAppendCommandArgv(self->out, 3, words, lengths);
    flush(self->out);
    self->unanswered++;
}

static uint64_t bare_receive(void *end, const struct bare *bare) {
    constexpr size_t PARTS = IS_LIST ? 2 : 3;
    if (IS_LIST)
        ask_for_one(static_cast<End *>(end));
    redisReply *const reply = next(static_cast<End *>(end)->in);
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != PARTS || reply->element[PARTS - 1]->len != bare->payload)
        bare_fail("receive a whole message");
    const uint64_t number = bare_read(reply->element[PARTS - 1]->str);
    freeReplyObject(reply);
    return number;
}

static void bare_close(void *end) {
    auto *self = static_cast<End *>(end);
    const std::string path = self->server.path();
    redisFree(self->out);
    redisFree(self->in);
    delete[] self->outgoing;
    delete self;
    if (!path.empty())
        rmdir(path.substr(0, path.rfind('/')).c_str());
}

int main(int argc, char **argv) {
    return bare_main(argc, argv);
}
