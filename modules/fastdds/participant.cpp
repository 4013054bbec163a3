#include "participant.hpp"

#include "log.hpp"
#include "security.hpp"

#include "shared/cpp/free_port.hpp"
#include "shared/cpp/options.hpp"

#include <algorithm>
#include <memory>

#include <mutex>

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/rtps/transport/TransportInterface.h>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastdds/rtps/transport/shared_mem/SharedMemTransportDescriptor.h>
#include <fastrtps/utils/IPLocator.h>

namespace fastdds_module {

namespace dds = eprosima::fastdds::dds;
namespace rtps = eprosima::fastdds::rtps;
using eprosima::fastrtps::rtps::IPLocator;
using ipcmark::FreePort;
using ipcmark::hash;

namespace {

rtps::Locator udp_locator(const std::string &host, uint32_t port) {
    rtps::Locator locator(LOCATOR_KIND_UDPv4, port);
    IPLocator::setIPv4(locator, host);
    return locator;
}

// Such a locator contains an identifier of the host, which only the library's own code computes.
rtps::Locator shm_locator(uint32_t port) {
    const std::unique_ptr<rtps::TransportInterface> transport(rtps::SharedMemTransportDescriptor().create_transport());
    rtps::LocatorList locators;
    transport->getDefaultUnicastLocators(locators, port);
    return *locators.begin();
}

rtps::LocatorList locators(const std::string &host, const Port &port) {
    rtps::LocatorList list;
    if (port.udp != 0)
        list.push_back(udp_locator(host, port.udp));
    if (port.shm != 0)
        list.push_back(shm_locator(port.shm));
    return list;
}

// A message of the largest size fits in one piece through shared memory. UDP splits at 64 KiB.
std::shared_ptr<rtps::SharedMemTransportDescriptor> shm_transport(const Config &config) {
    auto transport = std::make_shared<rtps::SharedMemTransportDescriptor>();
    const auto largest = static_cast<uint32_t>(config.payload) + 4096;
    transport->segment_size(std::max(config.segment, transport->max_message_size()));
    if (!config.udp && largest > transport->max_message_size() && largest <= config.segment)
        transport->max_message_size(largest);
    // A full port drops messages, so it has room for two histories.
    transport->port_queue_capacity(std::max(512u, 2 * config.history));
    return transport;
}

std::shared_ptr<rtps::UDPv4TransportDescriptor> udp_transport(const Config &config) {
    auto transport = std::make_shared<rtps::UDPv4TransportDescriptor>();
    transport->interfaceWhiteList.emplace_back(config.host);
    transport->sendBufferSize = config.socket_buffer;
    transport->receiveBufferSize = config.socket_buffer;
    return transport;
}

void set_transports(const Config &config, dds::DomainParticipantQos &qos) {
    qos.transport().use_builtin_transports = false;
    qos.transport().user_transports.clear();
    if (config.shm)
        qos.transport().user_transports.push_back(shm_transport(config));
    if (config.udp)
        qos.transport().user_transports.push_back(udp_transport(config));
}

void set_discovery(const Config &config, const Ports &ports, const LeaderAddress *leader,
                   dds::DomainParticipantQos &qos) {
    auto &protocol = qos.wire_protocol();
    protocol.builtin.metatrafficUnicastLocatorList = locators(config.host, ports.discovery);
    protocol.builtin.metatrafficMulticastLocatorList.clear();
    protocol.builtin.initialPeersList.clear();
    if (leader)
        protocol.builtin.initialPeersList = locators(leader->host, leader->discovery);
    protocol.default_unicast_locator_list = locators(config.host, ports.messages);
    protocol.default_multicast_locator_list.clear();
    // Few, because they also come after the ends have found each other, and then take processors from the messages.
    auto &announcements = protocol.builtin.discovery_config.initial_announcements;
    announcements.count = 5;
    announcements.period = {0, 20 * 1000 * 1000};
}

} // namespace

// A file is loaded once per process, because the library rejects a profile whose name it knows; both endpoints can be
// in one process.
void load_profile(const std::string &path) {
    static std::string loaded;
    static std::mutex loading;
    const std::lock_guard<std::mutex> alone(loading);
    auto *factory = dds::DomainParticipantFactory::get_instance();
    if (!path.empty() && path != loaded) {
        if (factory->load_XML_profiles_file(path) != ReturnCode_t::RETCODE_OK)
            throw Failure{"load", "the profiles of " + path,
                          last_error("Fast DDS finds no profile that it understands in it"),
                          "fast-dds.docs.eprosima.com has the format"};
        factory->set_default_participant_qos(dds::PARTICIPANT_QOS_DEFAULT);
        loaded = path;
    }
}

uint32_t first_shm_port(const std::string &session) {
    constexpr uint32_t SESSIONS = (UINT32_MAX - LEAST_SHM_PORT) / PORTS_A_SESSION;
    return LEAST_SHM_PORT + hash(session) % SESSIONS * PORTS_A_SESSION;
}

Ports choose_ports(const Config &config) {
    Ports ports{};
    if (config.udp) {
        const FreePort discovery, messages;
        ports.discovery.udp = discovery.number(config.host);
        ports.messages.udp = messages.number(config.host);
    }
    if (config.shm) {
        const uint32_t end = config.leads ? 0 : 1 + config.follower;
        const uint32_t opening = config.opening % (PORTS_A_SESSION / PORTS_AN_OPENING);
        ports.discovery.shm = first_shm_port(config.name) + opening * PORTS_AN_OPENING + 2 * end;
        ports.messages.shm = ports.discovery.shm + 1;
    }
    return ports;
}

dds::DomainParticipant *make_participant(const Config &config, const Ports &ports, const LeaderAddress *leader,
                                         const std::string &credentials) {
    load_profile(config.profile);
    auto *factory = dds::DomainParticipantFactory::get_instance();
    auto qos = factory->get_default_participant_qos();
    qos.name(config.name);
    set_transports(config, qos);
    set_discovery(config, ports, leader, qos);
    if (config.secure)
        for (const auto &[name, value] : security_properties(credentials, config.leads))
            qos.properties().properties().emplace_back(name, value);
    last_error("");
    auto *participant = factory->create_participant(config.domain, qos);
    if (!participant)
        throw Failure{"create", "a participant of Fast DDS", last_error("Fast DDS does not say why"), ""};
    return participant;
}

} // namespace fastdds_module
