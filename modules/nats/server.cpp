#include "server.hpp"

#include "shared/cpp/socket_path.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

namespace nats {

namespace {

// Debian's package also starts a server for the machine.
constexpr const char *PROGRAM = "nats-server", *REMEDY = "apt install nats-server, which runs one for the machine too";
constexpr std::chrono::milliseconds ENDED_WITHIN{2000};

std::string random_token() {
    std::array<unsigned char, 16> bytes{};
    if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        return "";
    std::string token;
    for (const unsigned byte : bytes) {
        token += "0123456789abcdef"[byte >> 4];
        token += "0123456789abcdef"[byte & 15];
    }
    return token;
}

} // namespace

// It stores nothing on disk, so it is killed.
Server::~Server() {
    if (program.id() > 0)
        kill(program.id(), SIGKILL);
    program.stop(ENDED_WITHIN);
    for (const auto *const file : {&configuration, &ports})
        if (!file->empty())
            unlink(file->c_str());
}

// Every user of the host can reach a port of the loopback interface, so the server requires a token. The token is in a
// file, because every user sees a program's command line.
int Server::write_configuration(const Limits &limits, ipcmark_error *error) {
    token = random_token();
    const std::string text = "max_payload: " + std::to_string(limits.payload) +
                             "\nmax_pending: " + std::to_string(limits.pending) + "\nauthorization { token: \"" +
                             token + "\" }\n";
    const int file = open(configuration.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const bool is_written =
        file >= 0 && !token.empty() && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const int number = errno;
    if (file >= 0)
        close(file);
    return is_written ? IPCMARK_DONE : ipcmark_fail_errno(error, "write", configuration.c_str(), number, nullptr);
}

// The file of ports is JSON, {"nats":["nats://127.0.0.1:PORT"]}, and is written shortly after the server reports that
// it is ready.
int Server::read_port(const ipcmark::Deadline &deadline, ipcmark_error *error) {
    constexpr const char *MARK = "nats://127.0.0.1:";
    const auto is_there = [this] {
        std::ifstream file(ports);
        const std::string text(std::istreambuf_iterator<char>(file), {});
        const auto at = text.find(MARK), from = at + std::strlen(MARK);
        const auto end = at == std::string::npos ? at : text.find('"', from);
        if (end == std::string::npos)
            return false;
        address = "nats://" + token + "@127.0.0.1:" + text.substr(from, end - from);
        return true;
    };
    if (ipcmark::holds_by(deadline, is_there))
        return IPCMARK_DONE;
    return ipcmark_fail(error, "find the port of", PROGRAM, deadline.missed("it does not tell").c_str(), nullptr);
}

int Server::start(const std::string &directory, const Limits &limits, const ipcmark::Deadline &deadline,
                  ipcmark_error *error) {
    int result = ipcmark::choose_socket(directory, "nats", &configuration, error);
    if (result == IPCMARK_DONE)
        result = write_configuration(limits, error);
    if (result != IPCMARK_DONE)
        return result;
    const ipcmark::Texts words = {PROGRAM, "--addr",      "127.0.0.1",        "--port", "-1",
                                  "-c",    configuration, "--ports_file_dir", directory};
    result = program.start({PROGRAM, words, {}, SIGKILL, REMEDY}, error);
    if (result == IPCMARK_DONE)
        result = program.await("Server is ready", 1, deadline, "it does not get ready", error);
    ports = directory + "/nats-server_" + std::to_string(program.id()) + ".ports";
    return result == IPCMARK_DONE ? read_port(deadline, error) : result;
}

int find_server(ipcmark_error *error) {
    return ipcmark::find_program(PROGRAM, REMEDY, error);
}

} // namespace nats
