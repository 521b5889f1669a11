// SPDX-License-Identifier: Apache-2.0
// Why the kernel module is not loaded. What explains comes before DRV001, which only says that.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "doctor/check.h"
#include "doctor/driver_checks.h"

namespace aliquot::doctor {
namespace {

bool not_loaded(const Facts& facts) { return facts.host.driver.absent(); }

Verdict loaded_or_unknown(const Facts& facts, std::string_view what) {
    if (facts.host.driver.unknown()) return unknown(facts.host.driver.reason);
    return ok(std::string(what));
}

const LogLine* log_line(const Facts& facts, std::initializer_list<std::string_view> parts) {
    for (const LogLine& line : facts.host.kernel_log) {
        for (const std::string_view part : parts) {
            if (contains_folded(line.text, part)) return &line;
        }
    }
    return nullptr;
}

std::vector<ModuleFile> modules_for(const Facts& facts, std::string_view kernel) {
    std::vector<ModuleFile> found;
    std::ranges::copy_if(facts.host.module_files, std::back_inserter(found),
                         [&](const ModuleFile& one) { return one.kernel == kernel; });
    return found;
}

Verdict judge_nouveau(const Facts& facts) {
    const HostFacts& host = facts.host;
    const bool loaded = host.modules.value.contains("nouveau");
    const auto gpus = host.pci_gpus();
    const auto bound = std::ranges::find(gpus, "nouveau", &PciDevice::driver);
    if (!loaded && bound == gpus.end()) {
        if (!host.modules.ok() && !host.pci.ok()) return unknown("/proc/modules was not read");
        return ok("nouveau is not loaded");
    }
    if (host.driver.ok()) return ok("the nvidia driver is loaded beside nouveau");
    auto verdict = failed("nouveau holds the GPU, so the nvidia module cannot.");
    if (loaded) {
        const Location& place =
            host.modules_place.path.empty() ? host.modules.place : host.modules_place;
        verdict.because(place, "no nouveau in the list of modules");
    }
    if (bound != gpus.end()) {
        verdict.because(Evidence{.path = bound->place.path + "/driver",
                                 .value = "nouveau (" + bound->address + ")",
                                 .expected = "nvidia"});
    }
    verdict.edit(
        "/etc/modprobe.d/aliquot-nouveau.conf: blacklist nouveau; options nouveau modeset=0",
        Risk::kReboot);
    verdict.fix(
        "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' | sudo tee "
        "/etc/modprobe.d/aliquot-nouveau.conf && (sudo update-initramfs -u || sudo dracut "
        "-f) && sudo reboot",
        Risk::kReboot);
    const bool built = !modules_for(facts, host.kernel.value).empty();
    if (host.kernel.ok() && facts.tree.has_beneath("/lib/modules") && !built) {
        verdict.because(Evidence{.path = "/lib/modules/" + host.kernel.value,
                                 .value = "no nvidia module for this kernel",
                                 .expected = "nvidia.ko"});
        verdict.note(concat({"Before the reboot install the driver for kernel ", host.kernel.value,
                             " (its headers, then sudo dkms autoinstall; or the driver's "
                             "packages): without nouveau nothing else would drive the GPU."}));
    }
    return verdict;
}

Verdict judge_blacklist(const Facts& facts) {
    const auto words_refuse = [](const std::vector<std::string_view>& words) {
        const auto is_nvidia = [](std::string_view word) {
            return word == "nvidia" || word == "nvidia_drm" || word == "nvidia-current";
        };
        if (words.size() > 1 && words[0] == "blacklist" && is_nvidia(words[1])) return true;
        if (words.size() > 2 && words[0] == "install" && is_nvidia(words[1])) {
            return words[2].ends_with("/false") || words[2].ends_with("/true");
        }
        return words.size() > 2 && words[0] == "alias" && is_nvidia(words[1]) && words[2] == "off";
    };
    const LogLine* found = nullptr;
    for (const LogLine& line : facts.host.modprobe_lines) {
        if (words_refuse(words_of(line.text))) found = &line;
    }
    const std::string& boot = facts.host.command_line.value;
    std::string argument;
    for (const std::string_view word : words_of(boot)) {
        for (const char* const key :
             {"modprobe.blacklist=", "module_blacklist=", "rd.driver.blacklist="}) {
            for (const std::string_view name : split(after(word, key), ',')) {
                if (name == "nvidia") argument = std::string(word);
            }
        }
    }
    if (found == nullptr && argument.empty()) return ok("nvidia is not blacklisted");
    const std::string where = found != nullptr
                                  ? found->place.path + ":" + std::to_string(found->place.line)
                                  : "the kernel's command line";
    const std::string text =
        "nvidia itself is blacklisted in " + where + " (often left by a passthrough set-up).";
    if (!not_loaded(facts)) return ok("nvidia is blacklisted in " + where + " but is loaded");
    auto verdict = failed(text);
    if (found != nullptr) verdict.because(found->place, "no such line");
    if (!argument.empty()) {
        verdict.because(Evidence{.path = facts.host.command_line.place.path,
                                 .line = 1,
                                 .value = argument,
                                 .expected = "no blacklist of nvidia"});
    }
    verdict.fix(found != nullptr ? "sudo sed -i '" + std::to_string(found->place.line) +
                                       "s/^/# /' " + found->place.path +
                                       " && (sudo update-initramfs -u || sudo dracut -f) && sudo "
                                       "modprobe nvidia"
                                 : "remove " + argument +
                                       " from GRUB_CMDLINE_LINUX in /etc/default/grub, then sudo "
                                       "update-grub && sudo reboot",
                found != nullptr ? Risk::kNone : Risk::kReboot);
    return verdict;
}

/// Whether the signer of the module is one that a kernel trusts by itself.
bool trusted(std::string_view signer) {
    for (const char* const known :
         {"Canonical", "Red Hat", "Debian Secure Boot", "SUSE", "Build time autogenerated",
          "Oracle", "Amazon", "Rocky", "AlmaLinux", "CentOS", "Fedora"}) {
        if (contains_folded(signer, known)) return true;
    }
    return false;
}

Verdict judge_secure_boot(const Facts& facts) {
    const HostFacts& host = facts.host;
    if (!not_loaded(facts)) return loaded_or_unknown(facts, "the module was accepted");
    const LogLine* const line =
        log_line(facts, {"Key was rejected by service", "Loading of unsigned module is rejected",
                         "unsigned module loading is restricted", "Required key not available",
                         "module verification failed: signature"});
    const bool refused =
        line != nullptr && !contains_folded(line->text, "module verification failed");
    const bool on = host.secure_boot.ok() && host.secure_boot.value;
    if (!on && !refused) {
        if (host.secure_boot.unknown()) return unknown("the Secure Boot variable was not read");
        return ok("Secure Boot is off");
    }
    const auto signer = host.modinfo.find("signer");
    const bool foreign = signer != host.modinfo.end() ? !trusted(signer->second.text)
                                                      : host.modinfo.contains("filename") ||
                                                            host.modinfo.contains("vermagic");
    const bool here = host.kernel.ok() && !modules_for(facts, host.kernel.value).empty();
    if (!refused && !foreign && !here) return ok("Secure Boot is on, and no module was refused");
    if (!refused && !foreign && signer != host.modinfo.end()) {
        return ok("Secure Boot is on and the module is signed by " + signer->second.text);
    }
    // A module for another kernel is not loaded whoever signed it.
    if (!refused && host.kernel.ok() && !here && !host.module_files.empty()) {
        return ok("Secure Boot is on, but there is no module for this kernel to refuse");
    }
    auto verdict = failed("Secure Boot refuses the nvidia module.");
    if (on) verdict.because(host.secure_boot.place, "off, or a module signed by an enrolled key");
    if (refused) verdict.because(line->place, "no refusal");
    if (signer != host.modinfo.end()) {
        verdict.because(signer->second, "a signer that the firmware or a MOK knows");
    } else if (foreign) {
        const auto at = host.modinfo.begin();
        verdict.because(
            Evidence{.path = at->second.path, .value = "no signer", .expected = "a signer"});
    }
    if (!refused && !foreign) verdict.as(Confidence::kLikely);
    verdict.fix("sudo mokutil --import /var/lib/shim-signed/mok/MOK.der && sudo reboot",
                Risk::kReboot);
    verdict.note(
        "Or install signed modules (Ubuntu: linux-modules-nvidia-NNN-$(uname -r)); with "
        "gpu-operator use precompiled drivers; or turn Secure Boot off in the firmware.");
    return verdict;
}

Verdict judge_other_kernel(const Facts& facts) {
    const HostFacts& host = facts.host;
    if (!not_loaded(facts)) return loaded_or_unknown(facts, "the module fits the kernel");
    const LogLine* const magic =
        log_line(facts, {"version magic", "disagrees about version of symbol"});
    const bool magic_of_nvidia = magic != nullptr && contains_folded(magic->text, "nvidia");
    if (!host.kernel.ok() && !magic_of_nvidia) return unknown("the running kernel is not known");
    const std::string& kernel = host.kernel.value;
    const bool fits_here = !modules_for(facts, kernel).empty();
    const auto other = std::ranges::find_if(
        host.module_files, [&](const ModuleFile& one) { return one.kernel != kernel; });
    if (!magic_of_nvidia && (fits_here || other == host.module_files.end())) {
        return ok(fits_here ? "there is a module for kernel " + kernel
                            : "no module for any kernel was seen");
    }
    std::set<std::string> kernels;
    for (const ModuleFile& one : host.module_files) {
        if (one.kernel != kernel) kernels.insert(one.kernel);
    }
    auto verdict = failed("The nvidia module was built for " +
                          (kernels.empty() ? std::string("another kernel") : join(kernels)) +
                          ", the node runs " + (kernel.empty() ? "another" : kernel) +
                          ". A kernel upgrade left the driver behind.");
    if (host.kernel.ok()) verdict.because(host.kernel.place);
    if (other != host.module_files.end()) verdict.because(other->place, "a module for " + kernel);
    if (magic_of_nvidia) verdict.because(magic->place);
    const bool headers = facts.tree.has_beneath("/usr/src/linux-headers-" + kernel) ||
                         facts.tree.has_beneath("/usr/lib/modules/" + kernel + "/build");
    if (facts.tree.complete && !headers) {
        verdict.because(Evidence{.path = "/usr/src/linux-headers-" + kernel, .value = "not there"});
    }
    verdict.fix(
        "sudo apt install linux-headers-$(uname -r) && sudo dkms autoinstall && sudo modprobe "
        "nvidia");
    verdict.fix(
        "sudo dnf install kernel-devel-$(uname -r) && sudo dkms autoinstall && sudo modprobe "
        "nvidia");
    return verdict;
}

Verdict judge_selinux(const Facts& facts) {
    const LogLine* line = nullptr;
    for (const LogLine& one : facts.host.kernel_log) {
        const bool denied = one.text.contains("avc:") && one.text.contains("denied");
        if (denied && (one.text.contains("modprobe") || one.text.contains("module_load") ||
                       one.text.contains("nvidia"))) {
            line = &one;
        }
    }
    Location audit;
    if (const std::string* const text = facts.tree.text("/var/log/audit/audit.log")) {
        for_each_line(*text, [&](std::string_view one, unsigned number) {
            const bool denied = one.contains("denied") && one.contains("avc");
            if (denied && (one.contains("comm=\"modprobe\"") || one.contains("module_load") ||
                           one.contains("nvidia"))) {
                audit = place_in("/var/log/audit/audit.log", number, one);
            }
        });
    }
    if (line == nullptr && audit.path.empty()) return ok("SELinux denied nothing of nvidia");
    if (facts.host.driver.ok()) return ok("SELinux denials are logged, but the driver is loaded");
    auto verdict = failed("SELinux keeps modprobe from loading the nvidia module.");
    verdict.because(line != nullptr ? line->place : audit, "no denial");
    verdict.fix(
        "sudo ausearch -m avc -c modprobe --raw | audit2allow -M nvidia-driver && sudo "
        "semodule -i nvidia-driver.pp");
    verdict.note("Or install the driver on the host instead of in a container.");
    return verdict;
}

Verdict judge_loaded(const Facts& facts) {
    const HostFacts& host = facts.host;
    if (host.driver.ok()) {
        return ok("driver " + host.driver.value + " loaded" +
                  (host.open_modules ? " (open modules)" : ""));
    }
    if (host.driver.unknown() && facts.nvml.code != 9) return unknown(host.driver.reason);
    if (host.wsl) return ok("WSL2: the driver is in Windows");
    if (host.jetson) return ok("a Jetson: the driver is part of its kernel (nvgpu)");
    auto verdict = failed("The nvidia kernel module is not loaded.");
    if (host.driver.absent()) {
        verdict.because(host.driver.place, "the version of the loaded module");
    } else {
        verdict.because(facts.nvml.place, "an answer of the driver");
    }
    if (host.modules.ok()) {
        verdict.because(Evidence{
            .path = host.modules.place.path.empty() ? "/proc/modules" : host.modules.place.path,
            .value = "no line 'nvidia'",
            .expected = "nvidia"});
    }
    const bool installed = host.kernel.ok() && !modules_for(facts, host.kernel.value).empty();
    if (facts.tree.has_beneath("/run/nvidia/validations") &&
        !facts.tree.has("/run/nvidia/validations/.driver-ctr-ready") && !installed) {
        verdict.because(Evidence{.path = "/run/nvidia/validations/.driver-ctr-ready",
                                 .value = "not there",
                                 .expected = "made by the driver container when it is ready"});
        verdict.fix("kubectl -n gpu-operator logs -l app=nvidia-driver-daemonset --tail=50");
    } else if (installed) {
        verdict.message += " It is installed for this kernel.";
        verdict.fix("sudo modprobe nvidia");
    } else {
        verdict.message += " No module file of it was seen either.";
        verdict.fix(
            "sudo ubuntu-drivers install --gpgpu   # or: sudo dnf install nvidia-driver-cuda");
    }
    return verdict;
}

/// Which kernel modules a GPU can run with: 'o' open only, 'p' proprietary only, ' ' both.
char flavour_of(const catalog::GpuModel& model) {
    const unsigned major = model.compute.major();
    if (major >= 10 || model.name.contains("GH200")) return 'o';
    const bool old = major < 7 || (major == 7 && model.compute.minor() < 5);
    return old ? 'p' : ' ';
}

Verdict wrong_flavour(bool needs_open, const Location& place) {
    auto verdict =
        failed(needs_open ? "This GPU needs the open kernel modules; the proprietary ones "
                            "are loaded."
                          : "This GPU cannot use the open kernel modules.");
    verdict.because(place, needs_open ? "open kernel modules" : "proprietary kernel modules");
    verdict.fix(needs_open ? "sudo apt install nvidia-open   # or nvidia-driver-NNN-open"
                           : "sudo apt install cuda-drivers-580   # the proprietary modules",
                Risk::kReboot);
    verdict.note(needs_open ? "With gpu-operator: driver.kernelModuleType=open (or auto)."
                            : "With gpu-operator: driver.kernelModuleType=proprietary (or auto).");
    return verdict;
}

Verdict judge_flavour(const Facts& facts) {
    if (const LogLine* line =
            log_line(facts, {"requires use of the NVIDIA open kernel modules",
                             "requires the open kernel modules", "requires use of the open",
                             "use the open kernel modules", "requires open kernel modules"})) {
        return wrong_flavour(true, line->place);
    }
    if (const LogLine* line =
            log_line(facts, {"not supported by open", "not supported by the open kernel modules",
                             "does not include the required GPU"})) {
        return wrong_flavour(false, line->place);
    }
    // The driver breaks this message into lines, some logs join them.
    const LogLine* const release = log_line(
        facts, {"not supported by the NVIDIA", "installed in this system is not supported"});
    if (release != nullptr && log_line(facts, {"driver release"}) != nullptr) {
        auto verdict = failed("The driver that is loaded does not support this GPU.");
        verdict.because(release->place, "a GPU of this driver's list");
        verdict.note(
            "Install the branch that the message names: an old GPU needs an older (legacy) "
            "driver, a new one a newer.");
        return verdict;
    }
    if (!facts.host.driver.ok()) return not_here("no driver is loaded");
    for (const PciDevice& gpu : facts.host.pci_gpus()) {
        const bool works = std::ranges::find(facts.host.gpus.value, gpu.address,
                                             &KernelGpu::address) != facts.host.gpus.value.end();
        for (const catalog::GpuModel* const model : models_of(gpu)) {
            const char flavour = flavour_of(*model);
            if (works || facts.host.gpus.unknown()) continue;
            if (flavour == 'o' && !facts.host.open_modules) {
                return wrong_flavour(true, facts.host.driver.place);
            }
            if (flavour == 'p' && facts.host.open_modules) {
                return wrong_flavour(false, facts.host.driver.place);
            }
        }
    }
    return ok("the flavour of the kernel modules fits the GPUs");
}

constexpr Check kChecks[] = {
    {"DRV003", Level::kDriver, true, "", judge_nouveau},
    {"DRV007", Level::kDriver, true, "DRV003", judge_blacklist},
    {"DRV006", Level::kDriver, true, "DRV003 DRV007 HW010", judge_flavour},
    {"DRV004", Level::kDriver, true, "DRV003 DRV006 DRV007", judge_secure_boot},
    {"DRV002", Level::kDriver, true, "DRV003 DRV004 DRV006 DRV007", judge_other_kernel},
    {"DRV005", Level::kDriver, true, "DRV002 DRV003 DRV004 DRV006 DRV007", judge_selinux},
    {"DRV001", Level::kDriver, true, "DRV002 DRV003 DRV004 DRV005 DRV006 DRV007", judge_loaded},
};

}  // namespace

std::vector<Check> driver_loading_checks() { return {std::begin(kChecks), std::end(kChecks)}; }

std::vector<const catalog::GpuModel*> models_of(const PciDevice& gpu) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string id;
    for (int shift = 12; shift >= 0; shift -= 4) {
        id += kDigits[gpu.device >> static_cast<unsigned>(shift) & 0xfU];
    }
    return catalog::gpu_models_with_pci_id(id);
}

std::span<const Check> driver_checks() {
    static const std::vector<Check> kAll = [] {
        auto all = driver_loading_checks();
        const auto more = driver_state_checks();
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }();
    return kAll;
}

}  // namespace aliquot::doctor
