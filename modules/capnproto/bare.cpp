// A bare program of streaming calls of Cap'n Proto RPC, the baseline for capnp-rpc.
#include "link.hpp"

#include "shared/c/bare.h"

using capnproto::Link;

static void *bare_open(const struct bare *bare) {
    auto *const link = new Link(bare_exchange_socket(bare), bare->leads, !bare->spins);
    link->connect(ipcmark::Deadline{std::chrono::seconds(BARE_CONNECTS_WITHIN_S)});
    return link;
}

static void bare_send(void *end, const struct bare *bare, uint64_t number) {
    auto &link = *static_cast<Link *>(end);
    bare_write(link.begin(bare->payload).begin(), number);
    while (!link.has_room()) {
    }
    link.send();
    while (!link.is_flushed()) {
    }
}

static uint64_t bare_receive(void *end, const struct bare *bare) {
    auto &link = *static_cast<Link *>(end);
    while (!link.has_message()) {
    }
    if (link.message().size() != bare->payload)
        bare_fail("receive a whole message");
    const uint64_t number = bare_read(link.message().begin());
    link.release();
    return number;
}

static void bare_close(void *end) {
    delete static_cast<Link *>(end);
}

int main(int argc, char **argv) {
    return bare_main(argc, argv);
}
