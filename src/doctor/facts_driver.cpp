// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/number.h"
#include "base/text.h"
#include "catalog/version.h"
#include "doctor/facts.h"
#include "doctor/text.h"

namespace aliquot::doctor {
namespace {

const std::string* first_text(const Tree& tree, std::initializer_list<const char*> paths,
                              std::string& which) {
    for (const char* const path : paths) {
        for (const std::string& one : tree.paths(path)) {
            if (const std::string* const text = tree.text(one)) {
                which = one;
                return text;
            }
        }
    }
    return nullptr;
}

void read_kernel(Facts& facts) {
    HostFacts& host = facts.host;
    std::string path;
    if (const auto* text = first_text(facts.tree, {"/proc/sys/kernel/osrelease"}, path)) {
        host.kernel = {State::kOk, std::string(trim(*text)), {}, {path, 1, *text}};
    } else if (const auto* version = first_text(facts.tree, {"/proc/version"}, path)) {
        const std::string_view rest = after(*version, "Linux version ");
        const auto words = words_of(rest);
        if (!words.empty()) {
            host.kernel = {State::kOk, std::string(words[0]), {}, {path, 1, clip(*version, 80)}};
        }
    } else if (const auto* uname = first_text(facts.tree, {"cmd/uname*"}, path)) {
        const auto words = words_of(*uname);
        const std::size_t at = words.size() > 2 && words[0] == "Linux" ? 2 : 0;
        if (words.size() > at)
            host.kernel = {State::kOk, std::string(words[at]), {}, {path, 1, *uname}};
    }
    if (const auto* text = first_text(facts.tree, {"/proc/cmdline", "cmd/cmdline.txt"}, path)) {
        host.command_line = {State::kOk, std::string(trim(*text)), {}, {path, 1, *text}};
    }
    if (const auto* text = first_text(facts.tree, {"/proc/stat"}, path)) {
        const auto booted = leading_number(after(*text, "btime "));
        if (booted) host.booted_s = {State::kOk, *booted, {}, {path, 0, "btime"}};
    }
}

void read_modules(Facts& facts) {
    HostFacts& host = facts.host;
    std::string path;
    const auto* text = first_text(facts.tree, {"/proc/modules", "cmd/lsmod*"}, path);
    for (const char* const name : {"nvidia", "nouveau", "nvidia_uvm", "vfio_pci"}) {
        if (!facts.tree.has_beneath("/sys/module/" + std::string(name))) continue;
        host.modules.state = State::kOk;
        host.modules.value.emplace(name);
        host.modules.place = {"/sys/module/" + std::string(name), 0, name};
    }
    if (text == nullptr) return;
    host.modules.state = State::kOk;
    host.modules.place = {path, 0, ""};
    for_each_line(*text, [&](std::string_view line, unsigned number) {
        const auto words = words_of(line);
        if (words.empty()) return;
        host.modules.value.emplace(words[0]);
        if (words[0] == "nouveau" || words[0] == "nvidia") {
            host.modules.place = place_in(path, number, line);
        }
        if (words[0] == "nouveau") host.modules_place = place_in(path, number, line);
    });
}

void read_loaded_driver(Facts& facts) {
    HostFacts& host = facts.host;
    std::string path;
    if (const auto* text = first_text(facts.tree, {"/proc/driver/nvidia/version"}, path)) {
        const std::string_view line = std::string_view(*text).substr(0, text->find('\n'));
        host.driver = {State::kOk, driver_version_in(line), {}, {path, 1, clip(line, 120)}};
        host.open_modules = contains_folded(line, "open kernel module");
    } else if (const auto* version = first_text(facts.tree, {"/sys/module/nvidia/version"}, path)) {
        host.driver = {State::kOk, std::string(trim(*version)), {}, {path, 1, *version}};
    } else if (const Entry* const entry = facts.tree.find("/proc/driver/nvidia/version");
               entry != nullptr && entry->kind == Entry::Kind::kUnreadable) {
        host.driver.reason = "/proc/driver/nvidia/version: " + entry->content;
    } else if (facts.tree.has_beneath("/proc") || facts.host.modules.ok()) {
        host.driver.state = State::kAbsent;
        host.driver.place = {"/proc/driver/nvidia/version", 0, "not there"};
    } else {
        host.driver.reason = "/proc is not part of what was given";
    }
    for (const std::string& file : facts.tree.paths("/proc/driver/nvidia/gpus/*/information")) {
        const auto parts = split(file, '/');
        KernelGpu gpu{.address = std::string(parts[parts.size() - 2]), .place = {file, 0, ""}};
        for_each_line(*facts.tree.text(file), [&](std::string_view line, unsigned number) {
            const std::string_view value =
                trim(line.substr(std::min(line.find(':'), line.size() - 1) + 1));
            if (line.starts_with("Model:")) {
                gpu.model = std::string(value);
                gpu.place = place_in(file, number, line);
            }
            if (line.starts_with("GPU UUID:") && !value.contains('?'))
                gpu.uuid = std::string(value);
            if (line.starts_with("Device Minor:")) gpu.minor = parse_number<unsigned>(value);
        });
        host.gpus.value.push_back(std::move(gpu));
    }
    host.gpus.state = host.gpus.value.empty() ? State::kAbsent : State::kOk;
    if (host.gpus.value.empty() && !facts.tree.has_beneath("/proc/driver/nvidia/gpus")) {
        host.gpus.state = facts.tree.complete ? State::kAbsent : State::kUnknown;
        host.gpus.reason = "/proc/driver/nvidia/gpus is not there";
    }
}

/// nvidia.ko, nvidia.ko.zst, ... and what dkms built, by kernel.
void read_module_files(Facts& facts) {
    for (const auto& [path, entry] : facts.tree.entries()) {
        const bool file = path.starts_with("/usr/lib/modules/");
        const bool dkms = path.starts_with("/var/lib/dkms/nvidia");
        if (!file && !dkms) continue;
        const auto parts = split(path, '/');
        if (file && parts.size() > 5 && parts.back().starts_with("nvidia") &&
            (parts.back().contains(".ko") || parts.back() == "nvidia.o")) {
            facts.host.module_files.push_back({std::string(parts[4]), {path, 0, "present"}});
        } else if (dkms && parts.size() == 7 && parts[6].find_first_of("0123456789") == 0) {
            facts.host.module_files.push_back({std::string(parts[6]), {path, 0, "built by dkms"}});
        }
    }
    for (const std::string& path : facts.tree.paths("cmd/modinfo*")) {
        const std::string* const text = facts.tree.text(path);
        if (text == nullptr) continue;
        for_each_line(*text, [&](std::string_view line, unsigned number) {
            const auto colon = line.find(':');
            if (colon == std::string_view::npos) return;
            const std::string name(trim(line.substr(0, colon)));
            Location place = place_in(path, number, line);
            place.text = std::string(trim(line.substr(colon + 1)));
            if (contains_folded(line, "modinfo") && contains_folded(line, "not found")) return;
            facts.host.modinfo.emplace(name, std::move(place));
        });
    }
    const auto vermagic = facts.host.modinfo.find("vermagic");
    if (vermagic != facts.host.modinfo.end()) {
        const auto words = words_of(vermagic->second.text);
        if (!words.empty()) {
            facts.host.module_files.push_back({std::string(words[0]), vermagic->second});
        }
    }
}

void read_security(Facts& facts) {
    HostFacts& host = facts.host;
    for (const std::string& path : facts.tree.paths("/sys/firmware/efi/efivars/SecureBoot-*")) {
        const std::string* const bytes = facts.tree.text(path);
        if (bytes == nullptr || bytes->empty()) continue;
        // Four bytes of attributes, then the value; a tree made by hand may hold "1".
        const bool on = bytes->size() >= 5 ? (*bytes)[4] == 1 : trim(*bytes) == "1";
        host.secure_boot = {State::kOk, on, {}, {path, 0, on ? "value 1" : "value 0"}};
    }
    std::string path;
    if (const auto* text = first_text(facts.tree, {"cmd/mokutil*"}, path)) {
        if (contains_folded(*text, "secureboot enabled")) {
            host.secure_boot = {State::kOk, true, {}, {path, 1, clip(*text, 60)}};
        } else if (contains_folded(*text, "secureboot disabled")) {
            host.secure_boot = {State::kOk, false, {}, {path, 1, clip(*text, 60)}};
        }
    }
    if (host.secure_boot.unknown()) {
        if (const auto* text = first_text(facts.tree, {"/sys/kernel/security/lockdown"}, path)) {
            const bool locked =
                text->contains("[integrity]") || text->contains("[confidentiality]");
            if (locked) host.secure_boot = {State::kOk, true, {}, {path, 1, *text}};
        }
    }
    if (const auto* text = first_text(facts.tree, {"/sys/fs/selinux/enforce"}, path)) {
        host.selinux = {State::kOk, trim(*text) == "1", {}, {path, 1, *text}};
    } else if (const auto* config = first_text(facts.tree, {"/etc/selinux/config"}, path)) {
        host.selinux = {State::kOk, config->contains("\nSELINUX=enforcing"), {}, {path, 0, ""}};
    }
}

void read_modprobe(Facts& facts) {
    for (const char* const pattern :
         {"/etc/modprobe.d/*", "/run/modprobe.d/*", "/usr/lib/modprobe.d/*"}) {
        for (const std::string& path : facts.tree.paths(pattern)) {
            const std::string* const text = facts.tree.text(path);
            if (text == nullptr) continue;
            for_each_line(*text, [&](std::string_view line, unsigned number) {
                const std::string_view rest = trim(line);
                if (rest.empty() || rest.front() == '#') return;
                facts.host.modprobe_lines.push_back(
                    {std::string(rest), place_in(path, number, line)});
            });
        }
    }
}

/// "libnvidia-ml.so.580.95.05", or the link "libnvidia-ml.so.1 -> libnvidia-ml.so.580.95.05".
void read_libraries(Facts& facts) {
    for (const auto& [path, entry] : facts.tree.entries()) {
        const auto at = path.rfind("/libnvidia-ml.so");
        if (at == std::string::npos || path.starts_with("/run/nvidia/driver")) continue;
        for (const std::string_view text :
             {std::string_view(path).substr(at), std::string_view(entry.content)}) {
            if (text.size() > 512) continue;
            const std::string version(after(text, "libnvidia-ml.so."));
            if (is_driver_version(version)) facts.host.libraries.emplace(version, path);
        }
        if (facts.host.library.unknown()) {
            facts.host.library = {State::kOk, "", {}, {path, 0, entry.content}};
        }
    }
    auto& library = facts.host.library;
    for (const auto& [version, path] : facts.host.libraries) {
        if (!library.value.empty() && catalog::compare_versions(version, library.value) <= 0)
            continue;
        library = {State::kOk, version, {}, {path, 0, "libnvidia-ml.so." + version}};
    }
    if (!library.unknown()) return;
    const bool looked = facts.tree.complete ||
                        facts.tree.has_beneath("/usr/lib/x86_64-linux-gnu") ||
                        facts.tree.has_beneath("/usr/lib64");
    if (looked) library.state = State::kAbsent;
    library.reason = "no library directory is part of what was given";
}

void read_programs(Facts& facts) {
    const std::int64_t booted = facts.host.booted_s.value;
    for (const std::string& path : facts.tree.paths("/proc/*/cmdline")) {
        const std::string* const text = facts.tree.text(path);
        if (text == nullptr || text->empty()) continue;
        Program program{.place = {path, 0, ""}};
        const char separator = text->contains('\0') ? '\0' : ' ';
        for (const std::string_view word : split(trim(*text), separator)) {
            if (!word.empty()) program.arguments.emplace_back(word);
        }
        if (program.arguments.empty()) continue;
        const std::string base = path.substr(0, path.rfind('/'));
        const std::string* const comm = facts.tree.text(base + "/comm");
        const std::string& first = program.arguments[0];
        program.name =
            comm != nullptr ? std::string(trim(*comm)) : first.substr(first.rfind('/') + 1);
        program.place.text = clip(join(program.arguments, " "), 200);
        // Field 22 of stat: start after boot, in hundredths of a second.
        if (const std::string* const stat = facts.tree.text(base + "/stat"); stat != nullptr) {
            const auto fields = words_of(
                std::string_view(*stat).substr(std::min(stat->rfind(')') + 1, stat->size())));
            if (fields.size() > 19 && booted > 0) {
                program.started_s =
                    booted + parse_number<std::int64_t>(fields[19]).value_or(0) / 100;
            }
        }
        facts.host.programs.push_back(std::move(program));
    }
}

}  // namespace

Location place_in(const std::string& path, unsigned line, std::string_view text) {
    return {path, line, clip(text, 300)};
}

void read_driver(Facts& facts) {
    read_kernel(facts);
    read_modules(facts);
    read_loaded_driver(facts);
    read_module_files(facts);
    read_security(facts);
    read_modprobe(facts);
    read_libraries(facts);
    read_programs(facts);
}

}  // namespace aliquot::doctor
