#include "connection.hpp"

#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

namespace redis {

namespace {

constexpr const char *OBJECT = "redis-server";
constexpr timeval LONGEST_SLEEP = {0, 100'000};

bool is_hang_up(const redisContext &context, int number) {
    return context.err == REDIS_ERR_EOF || (context.err == REDIS_ERR_IO && (number == EPIPE || number == ECONNRESET));
}

} // namespace

bool is_string(const redisReply &reply) {
    return reply.type == REDIS_REPLY_STRING && reply.str;
}

// Set-up and teardown ----------------------------------------------------------------------------

Connection::~Connection() {
    if (context)
        redisFree(context);
}

int Connection::fail(ipcmark_error *error, const char *operation) const {
    if (!is_hang_up(*context, errno))
        return ipcmark_fail(error, operation, OBJECT, context->errstr, nullptr);
    ipcmark_fail(error, operation, OBJECT, other.cause, nullptr);
    return other.result;
}

int Connection::fail_strange(ipcmark_error *error) const {
    return ipcmark_fail(error, "receive from", OBJECT, "its answer is not what it should be", nullptr);
}

int Connection::open(const std::string &path, ipcmark_error *error) {
    context = redisConnectUnixNonBlock(path.c_str());
    if (!context)
        return ipcmark_fail(error, "connect with", OBJECT, "there is no memory left", nullptr);
    return context->err ? fail(error, "connect with") : set_up(error);
}

// The connection stays non-blocking for hiredis, so that it does not report a read without an answer as an error.
int Connection::set_up(ipcmark_error *error) {
    context->reader->maxbuf = 0; // Recommended by its documentation for large answers: keeps the buffer.
    if (fcntl(context->fd, F_SETFL, 0) == 0 &&
        setsockopt(context->fd, SOL_SOCKET, SO_RCVTIMEO, &LONGEST_SLEEP, sizeof LONGEST_SLEEP) == 0 &&
        setsockopt(context->fd, SOL_SOCKET, SO_SNDTIMEO, &LONGEST_SLEEP, sizeof LONGEST_SLEEP) == 0)
        return IPCMARK_DONE;
    return ipcmark_fail_errno(error, "set a connection with", OBJECT, errno, nullptr);
}

int Connection::stop_sleeping(ipcmark_error *error) {
    if (fcntl(context->fd, F_SETFL, O_NONBLOCK) == 0)
        return IPCMARK_DONE;
    return ipcmark_fail_errno(error, "set a connection with", OBJECT, errno, nullptr);
}

int Connection::ask(std::initializer_list<std::string> command, const ipcmark::Deadline &deadline, Reply *reply,
                    ipcmark_error *error) {
    std::vector<const char *> words;
    std::vector<size_t> lengths;
    for (const auto &word : command) {
        words.push_back(word.data());
        lengths.push_back(word.size());
    }
    int result = append(words.data(), lengths.data(), static_cast<int>(words.size()), error);
    while (result == IPCMARK_DONE || result == IPCMARK_WOULD_BLOCK) {
        result = flush(error);
        if (result == IPCMARK_DONE)
            result = next(reply, error);
        if (result == IPCMARK_DONE)
            return result;
        if (deadline.has_passed())
            return ipcmark_fail(error, "ask", OBJECT, deadline.missed("it does not answer").c_str(), nullptr);
    }
    return result;
}

// The hot path -----------------------------------------------------------------------------------

int Connection::append(const char *const *words, const size_t *lengths, int count, ipcmark_error *error) {
    if (redisAppendCommandArgv(context, count, const_cast<const char **>(words), lengths) != REDIS_OK)
        return fail(error, "make a command for");
    is_flushed = false;
    return IPCMARK_DONE;
}

int Connection::flush(ipcmark_error *error) {
    int done = 1;
    if (!is_flushed && redisBufferWrite(context, &done) != REDIS_OK)
        return fail(error, "send to");
    is_flushed = done != 0;
    return is_flushed ? IPCMARK_DONE : IPCMARK_WOULD_BLOCK;
}

int Connection::next(Reply *reply, ipcmark_error *error) {
    for (;;) {
        void *made = nullptr;
        if (redisGetReplyFromReader(context, &made) != REDIS_OK)
            return fail(error, "receive from");
        reply->reset(static_cast<redisReply *>(made));
        if (made)
            break;
        const size_t before = context->reader->len;
        if (redisBufferRead(context) != REDIS_OK)
            return fail(error, "receive from");
        if (context->reader->len == before)
            return IPCMARK_WOULD_BLOCK;
    }
    if ((*reply)->type != REDIS_REPLY_ERROR)
        return IPCMARK_DONE;
    return ipcmark_fail(error, "ask", OBJECT, (*reply)->str, nullptr);
}

} // namespace redis
