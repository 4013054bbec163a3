#include "broker.hpp"

#include "bus_socket.hpp"
#include "connection.hpp"

#include "shared/cpp/socket_path.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace dbus {

namespace {

constexpr const char *PROGRAM = "dbus-broker";
// Debian's package enables its services.
constexpr const char *REMEDY = "apt install dbus-broker, which makes it the machine's own bus too";
constexpr const char *OBJECT = "/org/bus1/DBus/Broker", *INTERFACE = "org.bus1.DBus.Broker";
constexpr const char *LISTENER = "/org/bus1/DBus/Listener/0";

// The broker's byte limit for a user: as much as Debian's dbus-daemon allows a client of a session
// bus.
constexpr const char *MOST_BYTES = "1000000000";

// The types of the rules for connecting, owning names, sending and receiving.
#define RULES "bta(btbs)a(btssssuutt)a(btssssuutt)"
#define POLICY "a(u(" RULES "))a(buu(" RULES "))a(ss)bs"

// This user may do everything, and nobody else may connect.
int append_policy(sd_bus_message *message) {
    int code = sd_bus_message_open_container(message, 'v', "(" POLICY ")");
    if (code >= 0)
        code = sd_bus_message_append(message, "(" POLICY ")", 1, static_cast<uint32_t>(geteuid()), true, uint64_t{1}, 1,
                                     true, uint64_t{1}, true, "", 1, true, uint64_t{1}, "", "", "", "", 0, 0,
                                     uint64_t{0}, UINT64_MAX, 1, true, uint64_t{1}, "", "", "", "", 0, 0, uint64_t{0},
                                     UINT64_MAX, 0, 0, false, "session");
    return code >= 0 ? sd_bus_message_close_container(message) : code;
}

} // namespace

Broker::~Broker() {
    if (controller)
        sd_bus_close(controller);
    sd_bus_unref(controller);
    program.stop(std::chrono::milliseconds(0));
    if (!socket.empty())
        unlink(socket.c_str());
}

int Broker::start(const std::string &directory, const ipcmark::Deadline &deadline, ipcmark_error *error) {
    if (const int result = ipcmark::choose_socket(directory, "dbus", &socket, error))
        return result;
    listens = address_of(socket);
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return ipcmark_fail_errno(error, "make", "a pair of sockets", errno, nullptr);
    const int result = run(pair[1], error);
    close(pair[1]);
    if (result == IPCMARK_DONE)
        return connect(pair[0], deadline, error);
    close(pair[0]);
    return result;
}

// The program inherits its end under the same number.
int Broker::run(int controllers_end, ipcmark_error *error) {
    sd_id128_t id;
    char machine[SD_ID128_STRING_MAX];
    if (const int code = sd_id128_randomize(&id); code < 0)
        return ipcmark_fail_errno(error, "start", PROGRAM, -code, nullptr);
    fcntl(controllers_end, F_SETFD, 0);
    return program.start({PROGRAM,
                          {PROGRAM, "--controller", std::to_string(controllers_end), "--machine-id",
                           sd_id128_to_string(id, machine), "--max-bytes", MOST_BYTES},
                          {},
                          SIGKILL,
                          REMEDY},
                         error);
}

int Broker::connect(int own, const ipcmark::Deadline &deadline, ipcmark_error *error) {
    int code = sd_bus_new(&controller);
    if (code >= 0)
        code = sd_bus_set_fd(controller, own, own);
    if (code < 0)
        close(own);
    if (code >= 0)
        code = sd_bus_negotiate_fds(controller, true);
    if (code >= 0)
        code = sd_bus_set_method_call_timeout(controller, left_us(deadline));
    if (code >= 0)
        code = sd_bus_start(controller);
    if (code < 0)
        return ipcmark_fail_errno(error, "control", PROGRAM, -code, nullptr);
    int listener = -1;
    if (const int result = listen_at(socket, &listener, error))
        return result;
    const int result = add_listener(listener, error);
    close(listener);
    return result;
}

int Broker::add_listener(int listener, ipcmark_error *error) {
    sd_bus_message *made = nullptr;
    int code = sd_bus_message_new_method_call(controller, &made, nullptr, OBJECT, INTERFACE, "AddListener");
    const Message message(made);
    if (code >= 0)
        code = sd_bus_message_append(made, "oh", LISTENER, listener);
    if (code >= 0)
        code = append_policy(made);
    sd_bus_error refused = SD_BUS_ERROR_NULL;
    if (code >= 0)
        code = sd_bus_call(controller, made, 0, &refused, nullptr);
    if (code < 0)
        ipcmark_fail(error, "start", PROGRAM, refused.message ? refused.message : "it does not take a socket", nullptr);
    sd_bus_error_free(&refused);
    return code < 0 ? IPCMARK_FAILED : IPCMARK_DONE;
}

int find_broker(ipcmark_error *error) {
    return ipcmark::find_program(PROGRAM, REMEDY, error);
}

} // namespace dbus
