#include "server.hpp"

#include "shared/cpp/socket_path.hpp"

#include <chrono>
#include <csignal>

#include <unistd.h>

namespace redis {

namespace {

// Debian's package also starts a server for the machine.
constexpr const char *PROGRAM = "redis-server",
                     *REMEDY = "apt install redis-server, which runs one for the machine too";
constexpr std::chrono::milliseconds ENDED_WITHIN{2000};

} // namespace

const char *const OUTPUT_BUFFER_LIMIT[4] = {"pubsub", "0", "0", "0"};

// On SIGTERM it would first check its clock, up to 100 ms later. It stores nothing on disk, so it is killed.
Server::~Server() {
    if (program.id() > 0)
        kill(program.id(), SIGKILL);
    program.stop(ENDED_WITHIN);
    if (!socket.empty())
        unlink(socket.c_str());
}

int Server::start(const std::string &directory, const ipcmark::Deadline &deadline, ipcmark_error *error) {
    if (const int result = ipcmark::choose_socket(directory, "redis", &socket, error))
        return result;
    // Without a file as its first argument it reads no configuration.
    ipcmark::Texts words = {PROGRAM,   "--port",
                            "0",       "--unixsocket",
                            socket,    "--unixsocketperm",
                            "700",     "--dir",
                            directory, "--save",
                            "",        "--appendonly",
                            "no",      "--client-output-buffer-limit"};
    words.insert(words.end(), std::begin(OUTPUT_BUFFER_LIMIT), std::end(OUTPUT_BUFFER_LIMIT));
    const int result = program.start({PROGRAM, words, {}, SIGKILL, REMEDY}, error);
    // "Ready to accept connections", or "The server is now ready to accept connections at …".
    return result == IPCMARK_DONE
               ? program.await("eady to accept connections", 1, deadline, "it does not get ready", error)
               : result;
}

int find_server(ipcmark_error *error) {
    return ipcmark::find_program(PROGRAM, REMEDY, error);
}

} // namespace redis
