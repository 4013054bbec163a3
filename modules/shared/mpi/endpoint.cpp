// An endpoint between two MPI ranks: the same calls with every library, and its own tag.
#include "shared/cpp/description.hpp"
#include "shared/cpp/flow_control.hpp"
#include "shared/cpp/program.hpp"
#include "shared/mpi/calls.hpp"
#include "shared/mpi/job.hpp"

#include <cstdlib>
#include <memory>
#include <new>
#include <string>

namespace ipcmark::mpi {

namespace {

constexpr size_t PAGE = 4096;
constexpr int MOST_TAGS = 32767; // Every library has this many.
constexpr int TRIES = 1000;

struct End {
    End() = default;
    End(const End &) = delete;
    End &operator=(const End &) = delete;
    ~End() { std::free(message); }

    FlowControl flow;
    int partner = 0, tag = 0, room = 0;
    bool sends = false, receives = false; // A request is in progress.
    MPI_Request sending = MPI_REQUEST_NULL, receiving = MPI_REQUEST_NULL;
    void *message = nullptr; // The taken message.
};

// Both processes count their endpoints equally, so that a case does not take messages left by an earlier one.
int next_tag() {
    static int last = 0;
    last = last % MOST_TAGS + 1;
    return last;
}

// Set-up and teardown ----------------------------------------------------------------------------

// True if the request has ended and its buffer is free.
bool has_ended(MPI_Request &request) {
    int done = 0;
    for (int n = 0; n < TRIES && !done; n++)
        if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return true;
    return done != 0;
}

void close_end(void *end) {
    std::unique_ptr<End> self(static_cast<End *>(end));
    if (self->receives) {
        MPI_Cancel(&self->receiving);
        if (!has_ended(self->receiving)) {
            self->message = nullptr; // The library can still write it.
            spoil();
        }
    }
    // A partner that is gone never takes it, and the library can still read it.
    if (self->sends && !has_ended(self->sending))
        spoil();
}

int make_room(End &end, const ipcmark_settings &settings, ipcmark_error *error) {
    const size_t bytes = (settings.payload + PAGE - 1) / PAGE * PAGE;
    end.message = std::aligned_alloc(PAGE, bytes);
    if (!end.message)
        return ipcmark_fail(error, "allocate", "a message", "there is no memory left", nullptr);
    ipcmark_touch(end.message, bytes);
    end.room = static_cast<int>(settings.payload);
    return IPCMARK_DONE;
}

int connect(End &end, const ipcmark_settings &settings, ipcmark_session *session, ipcmark_error *error) {
    end.partner = partner();
    end.tag = next_tag();
    // A receiver that looks for one message takes all that have arrived; without a bound they would fill its memory.
    if (const int result = end.flow.open_bounded(settings, session, error))
        return result;
    return session->meet(session, error);
}

int open_end(const ipcmark_transport *transport, const ipcmark_settings *settings, ipcmark_session *session,
             void **opened, ipcmark_error *error) {
    std::unique_ptr<End> end(new (std::nothrow) End);
    if (!end)
        return ipcmark_fail(error, "allocate", "an end", "there is no memory left", nullptr);
    int result = make_room(*end, *settings, error);
    if (result == IPCMARK_DONE)
        result = join(*static_cast<const Way *>(transport->context), *settings, session, error);
    if (result == IPCMARK_DONE)
        result = connect(*end, *settings, session, error);
    if (result == IPCMARK_DONE)
        *opened = end.release();
    return result;
}

// The hot path -----------------------------------------------------------------------------------

int publish(void *end, void *message, size_t len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    int done = 0;
    if (!self.sends) {
        if (!self.flow.has_room()) {
            // The library works only within its calls, and the partner may wait for some of its work.
            MPI_Iprobe(self.partner, self.tag, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE);
            return IPCMARK_WOULD_BLOCK;
        }
        const int code =
            MPI_Isend(message, static_cast<int>(len), MPI_BYTE, self.partner, self.tag, MPI_COMM_WORLD, &self.sending);
        if (code != MPI_SUCCESS)
            return fail(error, "send by", code);
        self.sends = true;
    }
    if (const int code = MPI_Test(&self.sending, &done, MPI_STATUS_IGNORE); code != MPI_SUCCESS)
        return fail(error, "send by", code);
    if (!done)
        return IPCMARK_WOULD_BLOCK;
    self.sends = false;
    self.flow.count_sent();
    return IPCMARK_DONE;
}

int take(void *end, const void **message, size_t *len, ipcmark_error *error) {
    auto &self = *static_cast<End *>(end);
    if (!self.receives) {
        const int code =
            MPI_Irecv(self.message, self.room, MPI_BYTE, self.partner, self.tag, MPI_COMM_WORLD, &self.receiving);
        if (code != MPI_SUCCESS)
            return fail(error, "receive by", code);
        self.receives = true;
    }
    MPI_Status status;
    int done = 0, count = 0;
    if (const int code = MPI_Test(&self.receiving, &done, &status); code != MPI_SUCCESS)
        return fail(error, "receive by", code);
    if (!done)
        return IPCMARK_WOULD_BLOCK;
    self.receives = false;
    self.flow.count_released();
    MPI_Get_count(&status, MPI_BYTE, &count);
    *message = self.message;
    *len = static_cast<size_t>(count);
    return IPCMARK_DONE;
}

int probe(const ipcmark_transport *transport, ipcmark_error *error) {
    const Library &library = *static_cast<const Way *>(transport->context)->library;
    return find_program(library.launcher[0], library.remedy, error);
}

} // namespace

ipcmark_transport describe(const char *name, const char *summary, const Way &way, uint32_t carrier) {
    auto transport = describe_transport(name, summary, IPCMARK_SPIN, IPCMARK_ONE_END | carrier);
    transport.context = &way;
    transport.probe = probe;
    transport.open = open_end;
    transport.publish = publish;
    transport.take = take;
    transport.close = close_end;
    return transport;
}

} // namespace ipcmark::mpi
