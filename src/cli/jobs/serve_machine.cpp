// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/serve_machine.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <vector>

#include "base/sentence.h"

namespace aliquot::cli {

std::string control_group() {
    if (::geteuid() != 0) return "";
    const std::string group = "/sys/fs/cgroup/aliquot.jobs";
    if (::access("/sys/fs/cgroup/cgroup.controllers", R_OK) != 0) return "";
    if (::mkdir(group.c_str(), 0755) != 0 && errno != EEXIST) return "";
    std::ofstream("/sys/fs/cgroup/cgroup.subtree_control") << "+memory +cpu";
    std::ofstream(group + "/cgroup.subtree_control") << "+memory +cpu";
    return ::access((group + "/cgroup.kill").c_str(), W_OK) == 0 ? group : "";
}

Result<unsigned> group_number(const std::string& name) {
    group entry{};
    group* found = nullptr;
    std::array<char, 65'536> buffer{};
    if (::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 ||
        found == nullptr) {
        return Error{ErrorCode::kInvalidInput,
                     "--socket-group: there is no group '" + one_line(name, 60) + "'"};
    }
    return found->gr_gid;
}

std::string container_program(const std::string& word) {
    if (word == "none") return "";
    const std::vector<std::string> names =
        word == "auto" ? std::vector<std::string>{"podman", "nerdctl", "docker"}
                       : std::vector<std::string>{word};
    for (const std::string& name : names) {
        for (const char* const folder : {"/usr/local/bin/", "/usr/bin/", "/bin/"}) {
            const std::string program = name.starts_with('/') ? name : folder + name;
            if (::access(program.c_str(), X_OK) == 0) return program;
        }
    }
    return "";
}

}  // namespace aliquot::cli
