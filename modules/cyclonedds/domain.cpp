#include "domain.hpp"

#include "log.hpp"

#include "shared/cpp/free_port.hpp"

#include <fstream>
#include <sstream>

namespace cyclonedds_module {

namespace {

// The settings that a profile can change. Datagrams are as large as UDP allows, so that a message of 4 MiB is split
// into few; the watermarks make a writer keep as many messages as a reader does.
std::string tuning(const Config &config) {
    const uint64_t kept = config.history * (config.payload + 64);
    std::ostringstream xml;
    xml << "<CycloneDDS><Domain><General>"
        << "<MaxMessageSize>65500B</MaxMessageSize><FragmentSize>65000B</FragmentSize></General>"
        << "<Discovery><LeaseDuration>60s</LeaseDuration>"
        // A network may lose announcements of participants, which the library repeats only after half a minute.
        << (config.is_between_hosts ? "<SPDPInterval>300ms</SPDPInterval>" : "") << "</Discovery>"
        << "<Internal><SocketReceiveBufferSize max=\"" << config.socket_buffer << "B\"/>"
        << "<SocketSendBufferSize max=\"" << config.socket_buffer << "B\"/>"
        << "<Watermarks><WhcAdaptive>false</WhcAdaptive><WhcHigh>" << kept << "B</WhcHigh><WhcHighInit>" << kept
        << "B</WhcHighInit><WhcLow>" << kept / 2 << "B</WhcLow></Watermarks>"
        << "<WriterLingerDuration>0s</WriterLingerDuration></Internal></Domain></CycloneDDS>";
    return xml.str();
}

// The settings that isolate the session from all other programs.
std::string isolation(const Config &config, const LeaderAddress &leader) {
    std::ostringstream xml;
    xml << "<CycloneDDS><Domain><General><Interfaces><NetworkInterface address=\"" << config.host << "\"/></Interfaces>"
        << "<AllowMulticast>false</AllowMulticast></General><Discovery><Tag>" << config.name
        << "</Tag><ParticipantIndex>" << (config.leads ? "0" : "none") << "</ParticipantIndex><Peers><Peer address=\""
        << leader.host << ":" << leader.port << "\"/></Peers><Ports><Base>" << leader.port
        << "</Base><DomainGain>0</DomainGain><ParticipantGain>0</ParticipantGain>"
        << "<UnicastMetaOffset>0</UnicastMetaOffset><UnicastDataOffset>0</UnicastDataOffset>"
        << "<MulticastMetaOffset>0</MulticastMetaOffset><MulticastDataOffset>0</MulticastDataOffset>"
        << "</Ports></Discovery><SharedMemory><Enable>" << (config.shares ? "true" : "false")
        << "</Enable><LogLevel>off</LogLevel></SharedMemory></Domain></CycloneDDS>";
    return xml.str();
}

// The library reads a list in which later settings override earlier ones.
std::string configuration(const Config &config, const LeaderAddress &leader) {
    if (config.profile.empty())
        return tuning(config) + "," + isolation(config, leader);
    if (config.profile.find(',') != std::string::npos)
        throw Failure{"read", config.profile, "the library takes no path with a comma", "rename it"};
    if (!std::ifstream(config.profile))
        throw Failure{"read", config.profile, std::strerror(errno), ""};
    return tuning(config) + ",file://" + config.profile + "," + isolation(config, leader);
}

} // namespace

LeaderAddress choose_address(const Config &config) {
    LeaderAddress leader{};
    config.host.copy(leader.host, sizeof leader.host - 1);
    leader.port = ipcmark::FreePort().number(config.host);
    return leader;
}

dds_entity_t make_participant(const Config &config, const LeaderAddress &leader) {
    const auto xml = configuration(config, leader);
    last_error("");
    const dds_entity_t domain = dds_create_domain(config.domain, xml.c_str());
    if (domain < 0)
        throw Failure{"create", "a domain of Cyclone DDS", last_error(dds_strretcode(domain)),
                      config.profile.empty() ? "" : "see whether it is the profile"};
    const dds_entity_t participant = dds_create_participant(config.domain, nullptr, nullptr);
    if (participant < 0) {
        dds_delete(domain);
        throw Failure{"create", "a participant of Cyclone DDS", last_error(dds_strretcode(participant)), ""};
    }
    return participant;
}

void delete_domain(dds_entity_t participant) {
    dds_delete(dds_get_parent(participant));
}

} // namespace cyclonedds_module
