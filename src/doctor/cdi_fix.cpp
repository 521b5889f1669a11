// SPDX-License-Identifier: Apache-2.0
#include "doctor/cdi_fix.h"

#include <optional>
#include <string>

#include "base/text.h"
#include "doctor/nodes.h"

namespace aliquot::doctor {
namespace {

struct Mount {
    std::string path;  // where it is mounted
    bool read_only = false;
    Location place;
};

bool lies_in(std::string_view path, std::string_view directory) {
    if (directory == "/") return true;
    return path.starts_with(directory) &&
           (path.size() == directory.size() || path[directory.size()] == '/');
}

/// The mount that holds the path; nothing where the host's mounts were not read.
std::optional<Mount> mount_of(const Facts& facts, std::string_view path) {
    for (const char* const file : {"/proc/1/mounts", "/proc/mounts"}) {
        const std::string* const text = facts.tree.text(file);
        if (text == nullptr) continue;
        std::optional<Mount> found;
        for_each_line(*text, [&](std::string_view line, unsigned number) {
            const auto words = words_of(line);
            if (words.size() < 4 || !lies_in(path, words[1])) return;
            if (found && words[1].size() < found->path.size()) return;  // the later one covers
            const std::string options = "," + std::string(words[3]) + ",";
            found = {std::string(words[1]), options.contains(",ro,"),
                     Location{file, number, std::string(line)}};
        });
        return found;
    }
    return std::nullopt;
}

/// The read-only mount that the path lies on. /var/run is /run unless something is mounted there.
std::optional<Mount> read_only_mount(const Facts& facts, std::string_view path) {
    auto mount = mount_of(facts, path);
    if (path.starts_with("/var/run/") && !(mount && mount->path.starts_with("/var/run")))
        mount = mount_of(facts, path.substr(std::string_view("/var").size()));
    return mount && mount->read_only ? mount : std::nullopt;
}

}  // namespace

void fix_spec(Verdict& verdict, const Facts& facts, std::string_view path,
              std::string_view options) {
    if (path.contains("/k8s.device-plugin.")) {  // written by the device plugin when it starts
        verdict.fix(restart_of_plugin(facts), Risk::kRestartPods);
        return;
    }
    constexpr std::string_view kUsual = "/var/run/cdi/nvidia.yaml";
    constexpr std::string_view kOther = "/etc/cdi/nvidia.yaml";
    const auto locked = read_only_mount(facts, path.empty() ? kUsual : path);
    const bool moves = locked && path.empty() && !read_only_mount(facts, kOther);
    const std::string_view output = !path.empty() ? path : moves ? kOther : kUsual;
    const std::string generate =
        "sudo nvidia-ctk cdi generate " + std::string(options) + "--output=" + std::string(output);
    if (!locked) {
        const bool by_service = path.empty() && options.empty();
        verdict.fix((by_service ? "sudo systemctl restart nvidia-cdi-refresh || " : "") + generate);
        return;
    }
    const std::string unlock = "sudo mount -o remount,rw " + locked->path;
    verdict.because(locked->place, "rw");
    verdict.fix(moves ? generate : unlock + " && " + generate);
    verdict.note(locked->path + " is mounted read-only: whatever else writes there fails as well" +
                 (moves ? ". " + unlock : "; see why in /etc/fstab and in the kernel's log") + ".");
}

}  // namespace aliquot::doctor
