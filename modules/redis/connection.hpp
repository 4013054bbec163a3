// A connection of hiredis to a Redis server at a Unix socket.
#pragma once

#include "shared/cpp/within.hpp"

#include <ipcmark/transport.h>

#include <initializer_list>
#include <memory>
#include <string>

#include <hiredis/hiredis.h>

namespace redis {

struct FreeReply {
    void operator()(redisReply *reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

// The error to report when the server closes the connection.
struct Other {
    const char *cause;
    int result; // IPCMARK_FAILED or IPCMARK_PEER_GONE
};

bool is_string(const redisReply &reply);

class Connection {
  public:
    explicit Connection(const Other &other) : other(other) {}
    Connection(const Connection &) = delete;
    Connection &operator=(const Connection &) = delete;
    ~Connection();

    // Connects. From then on calls sleep in read(2) and write(2), for 100 ms at most.
    int open(const std::string &path, ipcmark_error *error);

    // From then on no call sleeps.
    int stop_sleeping(ipcmark_error *error);

    // Sends a command and waits for its answer: only before the measurement.
    int ask(std::initializer_list<std::string> command, const ipcmark::Deadline &deadline, Reply *reply,
            ipcmark_error *error);

    // Appends a command to hiredis's buffer; flush() writes it.
    int append(const char *const *words, const size_t *lengths, int count, ipcmark_error *error);

    // DONE once the buffer is written, else WOULD_BLOCK.
    int flush(ipcmark_error *error);

    // The next answer; reads only if hiredis's buffer contains no complete one; or WOULD_BLOCK. An error answer of the
    // server becomes an error.
    int next(Reply *reply, ipcmark_error *error);

    // Reports that an answer has an unexpected form.
    int fail_strange(ipcmark_error *error) const;

  private:
    int set_up(ipcmark_error *error);
    int fail(ipcmark_error *error, const char *operation) const;

    redisContext *context = nullptr;
    const Other other;
    bool is_flushed = true;
};

} // namespace redis
