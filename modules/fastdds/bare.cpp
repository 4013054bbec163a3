// A bare program of Fast DDS with data sharing, the baseline for fastdds-datasharing. It has the module's settings and
// way to wait; discovery is the library's default, by multicast, because it is not measured.
#include "shared/c/bare.h"

#include "endpoint.hpp"

#include <filesystem>

#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/log/Log.hpp>

namespace library = eprosima::fastdds::dds;
using fastdds_module::End;
using fastdds_module::Sample;

namespace {

// A DDS domain that most likely no other program on the machine uses.
constexpr uint32_t DOMAIN = 211;

fastdds_module::Config configure(const bare &bare) {
    const fastdds_module::Defaults defaults{true, true, fastdds_module::Sharing::On, false, false};
    ipcmark_settings settings{};
    settings.size = sizeof settings;
    settings.role = bare.leads ? IPCMARK_LEADER : IPCMARK_FOLLOWER;
    settings.wait = bare.spins ? IPCMARK_SPIN : IPCMARK_BLOCK;
    settings.payload = bare.payload;
    settings.subscribers = 1;
    settings.name = bare.name;
    settings.directory = "/tmp";
    return fastdds_module::configure(defaults, settings);
}

} // namespace

static void *bare_open(const struct bare *bare) {
    library::Log::ClearConsumers();
    auto *end = new End(configure(*bare));
    const auto directory = fastdds_module::pool_directory(bare->name);
    if (bare->leads)
        std::filesystem::create_directories(directory);
    bare_meet(bare);
    auto *factory = library::DomainParticipantFactory::get_instance();
    end->participant = factory->create_participant(DOMAIN, library::PARTICIPANT_QOS_DEFAULT);
    if (!end->participant)
        bare_fail("create a participant of Fast DDS");
    try {
        end->make_endpoints();
        end->match(ipcmark::Deadline(std::chrono::seconds(BARE_CONNECTS_WITHIN_S)));
    } catch (const fastdds_module::Failure &failure) {
        bare_fail(failure.object.c_str());
    }
    bare_meet(bare);
    if (bare->leads)
        std::filesystem::remove_all(directory);
    return end;
}

static void bare_send(void *end, const struct bare *bare, uint64_t number) {
    auto &self = *static_cast<End *>(end);
    bare_write(self.outgoing.data(), number);
    Sample sample{self.outgoing.data(), static_cast<uint32_t>(bare->payload)};
    while (self.writer->write(&sample, library::HANDLE_NIL)() == ReturnCode_t::RETCODE_TIMEOUT) {
    }
}

// Polls or sleeps until an arrival was reported.
static void bare_await(End &self, bool spins) {
    if (!spins) {
        self.waitset.wait(self.triggered, eprosima::fastrtps::Duration_t{1, 0});
        return;
    }
    while (self.arrivals.count.load(std::memory_order_acquire) == self.seen_arrivals) {
    }
    self.seen_arrivals = self.arrivals.count.load(std::memory_order_acquire);
}

static uint64_t bare_receive(void *end, const struct bare *bare) {
    auto &self = *static_cast<End *>(end);
    Sample sample{self.incoming.data(), 0};
    library::SampleInfo info;
    while (self.reader->take_next_sample(&sample, &info)() != ReturnCode_t::RETCODE_OK)
        bare_await(self, bare->spins);
    if (sample.len != bare->payload)
        bare_fail("receive a whole message of Fast DDS");
    return bare_read(self.incoming.data());
}

static void bare_close(void *end) {
    delete static_cast<End *>(end);
}

int main(int argc, char **argv) {
    return bare_main(argc, argv);
}
