// The process's environment, in which the user's own variables for a library are ignored: the result contains all
// settings of a measurement.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <unistd.h>

namespace ipcmark {

// Removes the variables, given as NAME=VALUE, for which the predicate is true.
template <typename IsMeant> void forget_variables(IsMeant is_meant) {
    std::vector<std::string> names;
    for (char **variable = environ; *variable; variable++)
        if (is_meant(*variable))
            names.emplace_back(*variable, std::strcspn(*variable, "="));
    for (const auto &name : names)
        unsetenv(name.c_str());
}

// Removes the variables whose names begin with the prefix.
inline void forget_variables_of(const std::string &prefix) {
    forget_variables([&](const char *variable) { return std::strncmp(variable, prefix.c_str(), prefix.size()) == 0; });
}

} // namespace ipcmark
