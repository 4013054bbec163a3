// The version of a loaded library, for libraries that have no function for it.
#pragma once

#include <climits>
#include <cstdlib>
#include <string>

#include <dlfcn.h>

namespace ipcmark {

// "2.9.1" if the file that contains `address`, links followed, is libx.so.2.9.1; else `otherwise`.
inline std::string loaded_version(const void *address, const char *otherwise) {
    Dl_info info{};
    char path[PATH_MAX];
    if (dladdr(address, &info) == 0 || !realpath(info.dli_fname, path))
        return otherwise;
    const std::string file(path);
    const auto at = file.rfind(".so.");
    return at == std::string::npos ? otherwise : file.substr(at + 4);
}

} // namespace ipcmark
