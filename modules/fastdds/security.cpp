#include "security.hpp"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace fastdds_module {

namespace {

// The files that every endpoint reads, and the suffixes of the files for its own role.
constexpr const char *SHARED_FILES[] = {"ca.pem", "governance.p7s"};
constexpr const char *ROLE_FILES[] = {".pem", "-key.pem", "-permissions.p7s"};
constexpr const char *ROLES[] = {"leader", "follower"};
// The authority that signed the permissions; without this file, that of the certificates.
constexpr const char *PERMISSIONS_AUTHORITY = "permissions-ca.pem";

// LatencyTest's names of certificates and keys, and ours.
constexpr const char *LATENCY_TEST[][2] = {{"maincacert.pem", "ca.pem"},
                                           {"mainpubcert.pem", "leader.pem"},
                                           {"mainpubkey.pem", "leader-key.pem"},
                                           {"mainsubcert.pem", "follower.pem"},
                                           {"mainsubkey.pem", "follower-key.pem"}};

// The scripts run in the directory. OPENSSL_CONF excludes the machine's configuration.
constexpr const char *START = R"(
cd "$1"
export OPENSSL_CONF=empty.cnf
printf '[req]\ndistinguished_name=names\n[names]\n' >empty.cnf
)";

// An authority, and a certificate signed by it for each role that has none.
constexpr const char *CERTIFY = R"(
make() {
    name=$1
    shift
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -sha256 -days 2 \
        -subj "/O=ipcmark/CN=$name" -keyout $name-key.pem "$@"
}
make authority -out permissions-ca.pem -addext 'basicConstraints=critical,CA:TRUE'
for role in leader follower; do
    if [ ! -e $role.pem ]; then
        ln -sf permissions-ca.pem ca.pem
        make $role -out $role.pem -CA ca.pem -CAkey authority-key.pem
    fi
    openssl x509 -in $role.pem -noout -subject -nameopt RFC2253 >$role.subject
done
)";

constexpr const char *SIGN = R"(
for document in governance leader-permissions follower-permissions; do
    openssl smime -sign -text -in $document.xml -signer permissions-ca.pem \
        -inkey authority-key.pem -out $document.p7s
done
rm authority-key.pem
)";

// Every submessage and every payload is encrypted. Whole messages are not encrypted again: 2.9.1 leaves no room for
// that and aborts when it resends messages that fill 64 KiB together.
constexpr const char *GOVERNANCE = R"(<?xml version="1.0" encoding="utf-8"?>
<dds><domain_access_rules><domain_rule>
  <domains><id_range><min>0</min><max>232</max></id_range></domains>
  <allow_unauthenticated_participants>false</allow_unauthenticated_participants>
  <enable_join_access_control>true</enable_join_access_control>
  <discovery_protection_kind>ENCRYPT</discovery_protection_kind>
  <liveliness_protection_kind>ENCRYPT</liveliness_protection_kind>
  <rtps_protection_kind>NONE</rtps_protection_kind>
  <topic_access_rules><topic_rule>
    <topic_expression>*</topic_expression>
    <enable_discovery_protection>true</enable_discovery_protection>
    <enable_liveliness_protection>true</enable_liveliness_protection>
    <enable_read_access_control>true</enable_read_access_control>
    <enable_write_access_control>true</enable_write_access_control>
    <metadata_protection_kind>ENCRYPT</metadata_protection_kind>
    <data_protection_kind>ENCRYPT</data_protection_kind>
  </topic_rule></topic_access_rules>
</domain_rule></domain_access_rules></dds>
)";

std::string date(time_t when) {
    char text[32];
    tm parts;
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", gmtime_r(&when, &parts));
    return text;
}

std::string escaped(const std::string &text) {
    std::string xml;
    for (const char c : text)
        xml += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
    return xml;
}

// A certificate's subject: the text after "subject=" in the only line of a file.
std::string subject(const std::string &path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line.substr(line.find('=') + 1);
}

std::string topic(const char *verb, const std::string &name) {
    return std::string("<") + verb + "><topics><topic>" + name + "</topic></topics></" + verb + ">";
}

// An endpoint may publish only on its own topic and subscribe only to the other.
std::string permissions(const Config &config, bool leads, const std::string &subject) {
    const auto to = leader_topic(config), fro = follower_topic(config);
    const auto domain = std::to_string(config.domain);
    constexpr time_t DAY = 24 * time_t{60} * 60;
    const time_t now = time(nullptr);
    return std::string("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<dds><permissions><grant name=\"") +
           ROLES[leads ? 0 : 1] + "\"><subject_name>" + escaped(subject) + "</subject_name><validity><not_before>" +
           date(now - DAY) + "</not_before><not_after>" + date(now + 2 * DAY) +
           "</not_after></validity><allow_rule><domains><id>" + domain + "</id></domains>" +
           topic("publish", leads ? to : fro) + topic("subscribe", leads ? fro : to) +
           "</allow_rule><default>DENY</default></grant></permissions></dds>\n";
}

void write_file(const std::string &path, const std::string &text) {
    std::ofstream file(path);
    file << text;
    if (!file.flush())
        throw Failure{"write", path, std::strerror(errno), ""};
}

std::string last_line(const std::string &path) {
    std::ifstream file(path);
    std::string line, last = "the command openssl failed";
    while (std::getline(file, line))
        if (!line.empty())
            last = line;
    return last;
}

void run_openssl(const std::string &what, const std::string &directory) {
    const auto script = START + what;
    const char *arguments[] = {"sh", "-euc", script.c_str(), "sh", directory.c_str(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    const auto errors = directory + "/errors";
    posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    pid_t child = -1;
    const int failed = posix_spawnp(&child, "sh", &actions, nullptr, const_cast<char *const *>(arguments), environ);
    posix_spawn_file_actions_destroy(&actions);
    int status = failed;
    while (!failed && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0)
        throw Failure{"make", "certificates and permissions", failed ? std::strerror(failed) : last_line(errors),
                      "apt install openssl"};
}

// Keys are linked, not copied.
void link_certificates(const std::string &from, const std::string &directory) {
    char path[PATH_MAX];
    for (const auto &[theirs, ours] : LATENCY_TEST) {
        const auto link = directory + "/" + ours;
        if (!realpath((from + "/" + theirs).c_str(), path) || symlink(path, link.c_str()) != 0)
            throw Failure{"link to", from + "/" + theirs, std::strerror(errno), ""};
    }
}

bool exists(const std::string &directory, const char *file) {
    return access((directory + "/" + file).c_str(), F_OK) == 0;
}

std::string uri(const std::string &credentials, const std::string &file) {
    return "file://" + credentials + "/" + file;
}

} // namespace

std::string make_credentials(const Config &config) {
    const auto directory = config.directory + "/security";
    if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
        throw Failure{"make", "the directory " + directory, std::strerror(errno), ""};
    if (!config.certificates.empty())
        link_certificates(config.certificates, directory);
    run_openssl(CERTIFY, directory);
    write_file(directory + "/governance.xml", GOVERNANCE);
    for (const bool leads : {true, false}) {
        const auto role = directory + "/" + ROLES[leads ? 0 : 1];
        write_file(role + "-permissions.xml", permissions(config, leads, subject(role + ".subject")));
    }
    run_openssl(SIGN, directory);
    return directory;
}

bool has_permissions(const std::string &directory) {
    return !exists(directory, LATENCY_TEST[0][0]);
}

void check_credentials(const std::string &directory) {
    const auto check = [&](const std::string &file) {
        const auto path = directory + "/" + file;
        if (access(path.c_str(), R_OK) != 0)
            throw Failure{"read", path, std::strerror(errno), "docs/transports/fastdds-secure.md names the files"};
    };
    if (!has_permissions(directory)) {
        for (const auto &names : LATENCY_TEST)
            check(names[0]);
        return;
    }
    for (const char *file : SHARED_FILES)
        check(file);
    for (const char *role : ROLES)
        for (const char *file : ROLE_FILES)
            check(std::string(role) + file);
}

std::vector<std::pair<std::string, std::string>> security_properties(const std::string &credentials, bool leads) {
    const std::string role = ROLES[leads ? 0 : 1];
    const std::string authentication = "dds.sec.auth.builtin.PKI-DH.";
    const std::string access = "dds.sec.access.builtin.Access-Permissions.";
    const char *const authority = exists(credentials, PERMISSIONS_AUTHORITY) ? PERMISSIONS_AUTHORITY : "ca.pem";
    return {
        {"dds.sec.auth.plugin", "builtin.PKI-DH"},
        {authentication + "identity_ca", uri(credentials, "ca.pem")},
        {authentication + "identity_certificate", uri(credentials, role + ".pem")},
        {authentication + "private_key", uri(credentials, role + "-key.pem")},
        {"dds.sec.access.plugin", "builtin.Access-Permissions"},
        {access + "permissions_ca", uri(credentials, authority)},
        {access + "governance", uri(credentials, "governance.p7s")},
        {access + "permissions", uri(credentials, role + "-permissions.p7s")},
        {"dds.sec.crypto.plugin", "builtin.AES-GCM-GMAC"},
    };
}

} // namespace fastdds_module
