// Shared code of the endpoints of all rows: the messages, and how an endpoint opens and closes.
#pragma once

#include "connection.hpp"

#include <memory>
#include <new>

namespace grpc_module {

struct End {
    End() = default;
    End(const End &) = delete;
    End &operator=(const End &) = delete;
    virtual ~End() = default;

    virtual int lead(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) = 0;
    virtual int follow(const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) = 0;
    // Ends the leader's calls; the follower's calls end with its server.
    virtual void cancel() = 0;

    // First, because it has the queue that the other members need.
    Connection connection;
    Message outgoing, incoming;
};

// The strings keep their memory from message to message.
inline void make_room(End &end, uint64_t payload) {
    end.outgoing.mutable_payload()->assign(payload, '\1');
    end.incoming.mutable_payload()->assign(payload, '\1');
}

inline void close_end(void *opened) {
    auto *const end = static_cast<End *>(opened);
    end->cancel();
    if (end->connection.close())
        delete end;
}

template <typename Kind>
int open_end(const ipcmark_transport *, const ipcmark_settings *settings, ipcmark_session *session, void **opened,
             ipcmark_error *error) {
    std::unique_ptr<End> end(new (std::nothrow) Kind);
    if (!end)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", nullptr);
    make_room(*end, settings->payload);
    int result = settings->role == IPCMARK_LEADER ? end->lead(*settings, session, error)
                                                  : end->follow(*settings, session, error);
    if (result == IPCMARK_DONE)
        result = session->meet(session, error);
    if (result == IPCMARK_DONE)
        *opened = end.release();
    else
        close_end(end.release());
    return result;
}

// The message is written in the memory from which the library serialises it, as in a program that fills in its fields.
inline int loan(void *end, size_t len, void **room, ipcmark_error *) {
    auto *const payload = static_cast<End *>(end)->outgoing.mutable_payload();
    payload->resize(len);
    *room = payload->data();
    return IPCMARK_DONE;
}

inline int deliver(const End &end, const void **message, size_t *len) {
    *message = end.incoming.payload().data();
    *len = end.incoming.payload().size();
    return IPCMARK_DONE;
}

} // namespace grpc_module
