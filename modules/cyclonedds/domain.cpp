// Participants that find one another without multicast and without the well-known ports of a domain:
// the leader listens on a port of its own, on the loopback interface unless the ends are on different
// hosts, and followers are told which.
// So no other DDS program is joined or disturbed, whatever its domain.
#include "domain.hpp"

#include "../free_port.hpp"
#include "words.hpp"

#include <fstream>
#include <sstream>

namespace cyclonedds_module {

namespace {

// What a profile can change. Datagrams are as large as UDP allows, so that a message of 4 MiB is cut
// into few; the watermarks make a writer keep as many messages as a reader does.
std::string tuning(const Plan &plan) {
    const uint64_t kept = plan.history * (plan.payload + 64);
    std::ostringstream xml;
    xml << "<CycloneDDS><Domain><General>"
        << "<MaxMessageSize>65500B</MaxMessageSize><FragmentSize>65000B</FragmentSize></General>"
        << "<Discovery><LeaseDuration>60s</LeaseDuration>"
        // A network may lose what an end says of itself, which the library repeats after half a minute.
        << (plan.apart ? "<SPDPInterval>300ms</SPDPInterval>" : "") << "</Discovery>"
        << "<Internal><SocketReceiveBufferSize max=\"" << plan.socket_buffer << "B\"/>"
        << "<SocketSendBufferSize max=\"" << plan.socket_buffer << "B\"/>"
        << "<Watermarks><WhcAdaptive>false</WhcAdaptive><WhcHigh>" << kept << "B</WhcHigh><WhcHighInit>"
        << kept << "B</WhcHighInit><WhcLow>" << kept / 2 << "B</WhcLow></Watermarks>"
        << "<WriterLingerDuration>0s</WriterLingerDuration></Internal></Domain></CycloneDDS>";
    return xml.str();
}

// What makes the session one of its own.
std::string isolation(const Plan &plan, const Leader &leader) {
    std::ostringstream xml;
    xml << "<CycloneDDS><Domain><General><Interfaces><NetworkInterface address=\"" << plan.host
        << "\"/></Interfaces>"
        << "<AllowMulticast>false</AllowMulticast></General><Discovery><Tag>" << plan.name
        << "</Tag><ParticipantIndex>" << (plan.leads ? "0" : "none")
        << "</ParticipantIndex><Peers><Peer address=\"" << leader.host << ":" << leader.port
        << "\"/></Peers><Ports><Base>"
        << leader.port << "</Base><DomainGain>0</DomainGain><ParticipantGain>0</ParticipantGain>"
        << "<UnicastMetaOffset>0</UnicastMetaOffset><UnicastDataOffset>0</UnicastDataOffset>"
        << "<MulticastMetaOffset>0</MulticastMetaOffset><MulticastDataOffset>0</MulticastDataOffset>"
        << "</Ports></Discovery><SharedMemory><Enable>" << (plan.shares ? "true" : "false")
        << "</Enable><LogLevel>off</LogLevel></SharedMemory></Domain></CycloneDDS>";
    return xml.str();
}

// The library reads a list, and what comes later counts.
std::string configuration(const Plan &plan, const Leader &leader) {
    if (plan.profile.empty())
        return tuning(plan) + "," + isolation(plan, leader);
    if (plan.profile.find(',') != std::string::npos)
        throw Failure{"read", plan.profile, "the library takes no path with a comma", "rename it"};
    if (!std::ifstream(plan.profile))
        throw Failure{"read", plan.profile, std::strerror(errno), ""};
    return tuning(plan) + ",file://" + plan.profile + "," + isolation(plan, leader);
}

} // namespace

Leader choose_place(const Plan &plan) {
    Leader leader{};
    plan.host.copy(leader.host, sizeof leader.host - 1);
    leader.port = ipcmark::FreePort().number(plan.host);
    return leader;
}

dds_entity_t make_participant(const Plan &plan, const Leader &leader) {
    const auto config = configuration(plan, leader);
    last_words("");
    const dds_entity_t domain = dds_create_domain(plan.domain, config.c_str());
    if (domain < 0)
        throw Failure{"create", "a domain of Cyclone DDS", last_words(dds_strretcode(domain)),
                      plan.profile.empty() ? "" : "see whether it is the profile"};
    const dds_entity_t participant = dds_create_participant(plan.domain, nullptr, nullptr);
    if (participant < 0) {
        dds_delete(domain);
        throw Failure{"create", "a participant of Cyclone DDS", last_words(dds_strretcode(participant)), ""};
    }
    return participant;
}

void delete_domain(dds_entity_t participant) {
    dds_delete(dds_get_parent(participant));
}

} // namespace cyclonedds_module
