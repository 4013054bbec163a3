// A bare program of two message queues of Boost.Interprocess, the baseline for boost-mq.
#include "shared/c/bare.h"

#include <memory>
#include <string>
#include <vector>

#include <boost/interprocess/ipc/message_queue.hpp>

using boost::interprocess::message_queue;

namespace {

struct End {
    std::unique_ptr<message_queue> out, in;
    std::vector<unsigned char> outgoing, incoming;
};

} // namespace

static void *bare_open(const struct bare *bare) {
    using namespace boost::interprocess;
    auto *end = new End;
    const std::string to = std::string(bare->name) + "-0", fro = std::string(bare->name) + "-1";
    const size_t depth = bare->payload > (1 << 18) ? 4 : 64;
    if (bare->leads) {
        end->out = std::make_unique<message_queue>(create_only, to.c_str(), depth, bare->payload);
        end->in = std::make_unique<message_queue>(create_only, fro.c_str(), depth, bare->payload);
    }
    bare_meet(bare);
    if (!bare->leads) {
        end->out = std::make_unique<message_queue>(open_only, fro.c_str());
        end->in = std::make_unique<message_queue>(open_only, to.c_str());
    }
    bare_meet(bare);
    if (bare->leads) {
        message_queue::remove(to.c_str());
        message_queue::remove(fro.c_str());
    }
    end->outgoing.assign(bare->payload, 1);
    end->incoming.assign(bare->payload, 1);
    return end;
}

static void bare_send(void *end, const struct bare *bare, uint64_t number) {
    auto &self = *static_cast<End *>(end);
    bare_write(self.outgoing.data(), number);
    if (bare->spins)
        while (!self.out->try_send(self.outgoing.data(), bare->payload, 0)) {
        }
    else
        self.out->send(self.outgoing.data(), bare->payload, 0);
}

static uint64_t bare_receive(void *end, const struct bare *bare) {
    auto &self = *static_cast<End *>(end);
    message_queue::size_type len = 0;
    unsigned int priority;
    if (bare->spins)
        while (!self.in->try_receive(self.incoming.data(), self.incoming.size(), len, priority)) {
        }
    else
        self.in->receive(self.incoming.data(), self.incoming.size(), len, priority);
    if (len != bare->payload)
        bare_fail("receive a whole message of Boost");
    return bare_read(self.incoming.data());
}

static void bare_close(void *end) {
    delete static_cast<End *>(end);
}

// NOLINTNEXTLINE(bugprone-exception-escape): an exception ends a bare program with its message.
int main(int argc, char **argv) {
    return bare_main(argc, argv);
}
