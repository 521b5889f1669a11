// SPDX-License-Identifier: Apache-2.0
// cdi::describe_node over a driver installation whose file names come from the input. What it
// answers is a valid spec whose every mount is there.
//
// Input: lines of "<kind><name>", kind f (file), d (directory) or l (link, to the name after '>'),
// each made in usr/lib64, or in usr/bin when the name begins with "nvidia-", or in dev for
// "nvidia".
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "cdi/spec.h"
#include "os/temporary_directory.h"

namespace {

namespace fs = std::filesystem;
using aliquot::cdi::Spec;

constexpr std::size_t kMaxLines = 64;

fs::path folder_of(std::string_view name) {
    if (name.starts_with("nvidia-uvm") || name.starts_with("nvidiactl")) return "dev";
    return name.starts_with("nvidia-") ? "usr/bin" : "usr/lib64";
}

void make(const fs::path& base, char kind, std::string name) {
    std::string target;
    if (const std::size_t arrow = name.find('>'); arrow != std::string::npos) {
        target = name.substr(arrow + 1);
        name.resize(arrow);
    }
    const bool usable = !name.empty() && name.size() < 200 && name != "." && name != ".." &&
                        name.find('/') == std::string::npos &&
                        name.find('\0') == std::string::npos &&
                        target.find('\0') == std::string::npos;
    if (!usable) return;
    const fs::path path = base / folder_of(name) / name;
    std::error_code ignored;
    if (kind == 'd') fs::create_directory(path, ignored);
    if (kind == 'l' && !target.empty()) fs::create_symlink(target, path, ignored);
    if (kind == 'f' && !fs::exists(fs::symlink_status(path, ignored))) std::ofstream(path) << "x";
}

void check(const aliquot::os::Root& root, const Spec& spec) {
    if (!aliquot::cdi::problems_of(spec).empty() || !aliquot::cdi::to_json(spec)) std::abort();
    for (const aliquot::cdi::Mount& mount : spec.edits.mounts) {
        if (!root.exists(mount.host_path)) std::abort();
        if (!mount.container_path.starts_with("/usr/")) std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const aliquot::os::TemporaryDirectory directory;
    for (const char* folder : {"usr/lib64", "usr/bin", "dev"}) {
        fs::create_directories(directory.path() / "driver" / folder);
    }
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    for (std::size_t line = 0; line < kMaxLines && !rest.empty(); ++line) {
        const std::string_view text = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), text.size() + 1));
        if (text.size() > 1)
            make(directory.path() / "driver", text[0], std::string(text.substr(1)));
    }

    const aliquot::os::Root root(directory.path());
    aliquot::gpu::Inventory inventory;
    inventory.driver_version = "580.65.06";
    inventory.gpus.resize(1);
    inventory.gpus[0].uuid = {"GPU-a"};
    aliquot::cdi::DescribeOptions options;
    options.place.driver_root = "/driver";
    const auto spec = aliquot::cdi::describe_node(root, inventory, options);
    if (spec) check(root, *spec);
    return 0;
}
