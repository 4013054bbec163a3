// Participants that find one another without multicast and without the well-known ports of a domain:
// every end listens on ports of its own on the loopback interface, and followers are told the
// leader's. So no other DDS program is joined or disturbed, whatever its domain.
#include "participant.hpp"

#include "../free_port.hpp"
#include "../options.hpp"
#include "security.hpp"
#include "words.hpp"

#include <mutex>

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

// The library writes into such a locator which host it is of, and tells only itself how.
rtps::Locator shm_locator(uint32_t port) {
    const std::unique_ptr<rtps::TransportInterface> transport(
        rtps::SharedMemTransportDescriptor().create_transport());
    rtps::LocatorList locators;
    transport->getDefaultUnicastLocators(locators, port);
    return *locators.begin();
}

rtps::LocatorList locators(const std::string &host, const Address &address) {
    rtps::LocatorList list;
    if (address.udp != 0)
        list.push_back(udp_locator(host, address.udp));
    if (address.shm != 0)
        list.push_back(shm_locator(address.shm));
    return list;
}

// One message of the largest size goes in one piece through shared memory. UDP cuts at 64 KiB.
std::shared_ptr<rtps::SharedMemTransportDescriptor> shm_transport(const Plan &plan) {
    auto transport = std::make_shared<rtps::SharedMemTransportDescriptor>();
    const auto largest = static_cast<uint32_t>(plan.payload) + 4096;
    transport->segment_size(std::max(plan.segment, transport->max_message_size()));
    if (!plan.udp && largest > transport->max_message_size() && largest <= plan.segment)
        transport->max_message_size(largest);
    // A full port drops messages, so it holds what two histories do.
    transport->port_queue_capacity(std::max(512u, 2 * plan.history));
    return transport;
}

std::shared_ptr<rtps::UDPv4TransportDescriptor> udp_transport(const Plan &plan) {
    auto transport = std::make_shared<rtps::UDPv4TransportDescriptor>();
    transport->interfaceWhiteList.emplace_back(plan.host);
    transport->sendBufferSize = plan.socket_buffer;
    transport->receiveBufferSize = plan.socket_buffer;
    return transport;
}

void set_transports(const Plan &plan, dds::DomainParticipantQos &qos) {
    qos.transport().use_builtin_transports = false;
    qos.transport().user_transports.clear();
    if (plan.shm)
        qos.transport().user_transports.push_back(shm_transport(plan));
    if (plan.udp)
        qos.transport().user_transports.push_back(udp_transport(plan));
}

void set_discovery(const Plan &plan, const Ports &ports, const Leader *leader, dds::DomainParticipantQos &qos) {
    auto &protocol = qos.wire_protocol();
    protocol.builtin.metatrafficUnicastLocatorList = locators(plan.host, ports.discovery);
    protocol.builtin.metatrafficMulticastLocatorList.clear();
    protocol.builtin.initialPeersList.clear();
    if (leader)
        protocol.builtin.initialPeersList = locators(leader->host, leader->discovery);
    protocol.default_unicast_locator_list = locators(plan.host, ports.messages);
    protocol.default_multicast_locator_list.clear();
    auto &announcements = protocol.builtin.discovery_config.initial_announcements;
    announcements.count = 50;
    announcements.period = {0, 20 * 1000 * 1000};
}

} // namespace

// Default profiles of a file count where the session does not say otherwise. A file is loaded once a
// process, for the library refuses a profile whose name it knows; both ends can be of one process.
void load_profile(const std::string &path) {
    static std::string loaded;
    static std::mutex loading;
    const std::lock_guard<std::mutex> alone(loading);
    auto *factory = dds::DomainParticipantFactory::get_instance();
    if (!path.empty() && path != loaded) {
        if (factory->load_XML_profiles_file(path) != ReturnCode_t::RETCODE_OK)
            throw Failure{"load", "the profiles of " + path,
                          last_words("Fast DDS finds no profile that it understands in it"),
                          "fast-dds.docs.eprosima.com has the format"};
        factory->set_default_participant_qos(dds::PARTICIPANT_QOS_DEFAULT);
        loaded = path;
    }
}

uint32_t shm_ports(const std::string &name) {
    return LEAST_SHM_PORT + hash(name) % 0x00ff0000u * PORTS_A_SESSION;
}

Ports choose_ports(const Plan &plan) {
    Ports ports{};
    if (plan.udp) {
        const FreePort discovery, messages;
        ports.discovery.udp = discovery.number(plan.host);
        ports.messages.udp = messages.number(plan.host);
    }
    if (plan.shm) {
        const uint32_t end = plan.leads ? 0 : 1 + plan.follower;
        const uint32_t opening = plan.opening % (PORTS_A_SESSION / PORTS_AN_OPENING);
        ports.discovery.shm = shm_ports(plan.name) + opening * PORTS_AN_OPENING + 2 * end;
        ports.messages.shm = ports.discovery.shm + 1;
    }
    return ports;
}

dds::DomainParticipant *make_participant(const Plan &plan, const Ports &ports,
                                         const Leader *leader, const std::string &credentials) {
    load_profile(plan.profile);
    auto *factory = dds::DomainParticipantFactory::get_instance();
    auto qos = factory->get_default_participant_qos();
    qos.name(plan.name);
    set_transports(plan, qos);
    set_discovery(plan, ports, leader, qos);
    if (plan.secure)
        secure(qos, credentials, plan.leads);
    last_words("");
    auto *participant = factory->create_participant(plan.domain, qos);
    if (!participant)
        throw Failure{"create", "a participant of Fast DDS", last_words("Fast DDS does not say why"), ""};
    return participant;
}

} // namespace fastdds_module
