// The bare programs are scripts for python3 in two processes; this program only starts them, by its own name.
#include "python/text.hpp"

#include <cstdio>
#include <string>
#include <vector>

#include <unistd.h>

int main(int argc, char **argv) {
    const std::string path = argv[0];
    std::string name = path.substr(path.rfind("bare-") + 5);
    std::string program = python::PROGRAM, text = python::BARE_TEXT, isolated = "-I", command = "-c";
    std::vector<char *> words = {program.data(), isolated.data(), command.data(), text.data(), name.data()};
    words.insert(words.end(), argv + 1, argv + argc);
    words.push_back(nullptr);
    execv(program.c_str(), words.data());
    perror("bare: cannot start python3");
    return 1;
}
