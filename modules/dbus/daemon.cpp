#include "daemon.hpp"

#include "bus_socket.hpp"

#include "shared/cpp/socket_path.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>

#include <pwd.h>
#include <unistd.h>

namespace dbus {

namespace {

constexpr const char *PROGRAM = "dbus-daemon", *REMEDY = "apt install dbus-daemon";

// The largest message of the protocol, and the bytes of and for a client that Debian's session bus holds.
constexpr size_t LARGEST_MESSAGE = 128u << 20, MOST_OF_A_CLIENT = 1'000'000'000;

std::string limit(const char *name, size_t value) {
    return std::string("  <limit name=\"") + name + "\">" + std::to_string(value) + "</limit>\n";
}

// A bus for this user only, which starts no services.
bool write_config(const std::string &path, const std::string &address) {
    std::ofstream file(path);
    file << "<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\"\n"
            " \"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n"
            "<busconfig>\n"
            "  <type>session</type>\n"
            "  <listen>"
         << address
         << "</listen>\n"
            "  <auth>EXTERNAL</auth>\n"
            "  <policy context=\"default\">\n"
            "    <allow send_destination=\"*\"/>\n"
            "    <allow receive_sender=\"*\"/>\n"
            "  </policy>\n"
         << limit("max_message_size", LARGEST_MESSAGE) << limit("max_incoming_bytes", MOST_OF_A_CLIENT)
         << limit("max_outgoing_bytes", MOST_OF_A_CLIENT) << "</busconfig>\n";
    file.close();
    return file.good();
}

// The daemon looks up the user of a client, and closes the connection if that user is unknown.
int check_user(ipcmark_error *error) {
    if (getpwuid(geteuid()))
        return IPCMARK_DONE;
    const std::string cause = "the user " + std::to_string(geteuid()) + " has no name";
    return ipcmark_fail(error, "start", PROGRAM, cause.c_str(), "it needs one: run as a user of /etc/passwd");
}

} // namespace

Daemon::~Daemon() {
    program.stop(std::chrono::milliseconds(0));
    if (!socket.empty())
        unlink(socket.c_str());
}

int Daemon::start(const std::string &directory, const ipcmark::Deadline &deadline, ipcmark_error *error) {
    if (const int result = check_user(error))
        return result;
    if (const int result = ipcmark::choose_socket(directory, "dbus", &socket, error))
        return result;
    listens = address_of(socket);
    const std::string config = socket + ".conf";
    if (!write_config(config, listens))
        return ipcmark_fail_errno(error, "write", config.c_str(), errno, nullptr);
    const ipcmark::Command command = {
        PROGRAM,
        {PROGRAM, "--config-file=" + config, "--nofork", "--nopidfile", "--nosyslog", "--print-address=1"},
        {},
        SIGKILL,
        REMEDY};
    int result = program.start(command, error);
    if (result == IPCMARK_DONE)
        result = program.await("guid=", 1, deadline, "it does not get ready", error);
    unlink(config.c_str());
    return result;
}

int find_daemon(ipcmark_error *error) {
    return ipcmark::find_program(PROGRAM, REMEDY, error);
}

} // namespace dbus
