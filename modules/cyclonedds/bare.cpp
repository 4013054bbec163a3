// A bare program of Cyclone DDS over UDP, the baseline for cyclonedds. It has the module's settings and way to wait.
#include "shared/c/bare.h"

#include "domain.hpp"
#include "endpoint.hpp"
#include "log.hpp"

using cyclonedds_module::End;

namespace {

cyclonedds_module::Config configure(const bare &bare) {
    ipcmark_settings settings{};
    settings.size = sizeof settings;
    settings.role = bare.leads ? IPCMARK_LEADER : IPCMARK_FOLLOWER;
    settings.wait = bare.spins ? IPCMARK_SPIN : IPCMARK_BLOCK;
    settings.payload = bare.payload;
    settings.subscribers = 1;
    settings.name = bare.name;
    return cyclonedds_module::configure(false, settings);
}

// The leader chooses its address and sends it to the follower.
cyclonedds_module::LeaderAddress agree_on_address(const bare &bare, const cyclonedds_module::Config &config) {
    auto leader = bare.leads ? cyclonedds_module::choose_address(config) : cyclonedds_module::LeaderAddress{};
    const bool agreed = bare.leads ? write(bare.peer, &leader, sizeof leader) == sizeof leader
                                   : read(bare.peer, &leader, sizeof leader) == sizeof leader;
    if (!agreed)
        bare_fail("agree on an address");
    return leader;
}

} // namespace

static void *bare_open(const struct bare *bare) {
    cyclonedds_module::capture_log();
    auto *end = new End(configure(*bare));
    try {
        end->participant = make_participant(end->config, agree_on_address(*bare, end->config));
        end->make_endpoints();
        end->match(ipcmark::Deadline(std::chrono::seconds(BARE_CONNECTS_WITHIN_S)));
    } catch (const ipcmark::Failure &failure) {
        bare_fail((failure.object + ": " + failure.cause).c_str());
    }
    bare_meet(bare);
    return end;
}

static void bare_send(void *end, const struct bare *bare, uint64_t number) {
    auto &self = *static_cast<End *>(end);
    static auto *const content = static_cast<uint8_t *>(calloc(1, bare->payload));
    bare_write(content, number);
    const auto octets = static_cast<uint32_t>(bare->payload);
    const ipcmark_Message message{{octets, octets, content, false}};
    while (dds_write(self.writer, &message) == DDS_RETCODE_TIMEOUT) {
    }
}

// Polls or sleeps until an arrival was reported.
static void bare_await(End &self, bool spins) {
    if (!spins) {
        dds_attach_t triggered;
        dds_waitset_wait(self.waitset, &triggered, 1, DDS_SECS(1));
        return;
    }
    while (self.arrivals.load(std::memory_order_acquire) == self.seen_arrivals) {
    }
    self.seen_arrivals = self.arrivals.load(std::memory_order_acquire);
}

static uint64_t bare_receive(void *end, const struct bare *bare) {
    auto &self = *static_cast<End *>(end);
    ipcmark_Message message{{static_cast<uint32_t>(bare->payload), 0, self.incoming.data(), false}};
    void *sample = &message;
    dds_sample_info_t info;
    while (dds_take(self.reader, &sample, &info, 1, 1) <= 0)
        bare_await(self, bare->spins);
    if (message.content._length != bare->payload)
        bare_fail("receive a whole message of Cyclone DDS");
    return bare_read(message.content._buffer);
}

static void bare_close(void *end) {
    auto *self = static_cast<End *>(end);
    cyclonedds_module::delete_domain(self->participant);
    delete self;
}

int main(int argc, char **argv) {
    return bare_main(argc, argv);
}
