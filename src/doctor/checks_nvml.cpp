// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "catalog/version.h"
#include "catalog/xid.h"
#include "doctor/check.h"
#include "doctor/nvml_gpu.h"
#include "doctor/text.h"

namespace aliquot::doctor {
namespace {

using NvmlState = NvmlFacts::State;

/// Two drivers in part: a reboot alone loads the same module again.
bool is_mixed(const Facts& facts, const std::string& library) {
    const std::string& loaded = facts.host.driver.value;
    const auto on_disk = facts.host.modinfo.find("version");
    if (on_disk != facts.host.modinfo.end() && !loaded.empty()) {
        return on_disk->second.text.find(loaded) != std::string::npos;
    }
    return !loaded.empty() && !library.empty() && catalog::compare_versions(library, loaded) < 0;
}

Verdict mixed_drivers(const std::string& loaded, const std::string& library) {
    auto verdict = failed("Kernel module " + loaded + " is loaded, the user library is " + library +
                          ": parts of two installations of the driver are mixed.");
    verdict.note(
        "Find both: dpkg -l '*nvidia*' or rpm -qa '*nvidia*', and nvidia-uninstall of a "
        ".run file. Remove one of them, install the other again, then reboot.");
    return verdict;
}

Verdict judge_same_version(const Facts& facts) {
    const HostFacts& host = facts.host;
    const std::string& loaded = host.driver.value;
    const bool differs =
        !loaded.empty() && !host.libraries.empty() && !host.libraries.contains(loaded);
    const bool said = facts.nvml.state == NvmlState::kFailed && facts.nvml.code == 18;
    if (!said && (!differs || answered(facts))) {
        if (loaded.empty()) return unknown("the version of the loaded module is not known");
        if (host.libraries.empty() && !answered(facts)) {
            return unknown("the version of libnvidia-ml is not known");
        }
        return ok("library and module have the same version");
    }
    std::string library = host.library.value == loaded ? "" : host.library.value;
    if (library.empty()) library = facts.nvml.library;
    if (library.empty() && said) library = driver_version_in(after(facts.nvml.message, "version:"));
    const bool mixed = is_mixed(facts, library);
    auto verdict = mixed ? mixed_drivers(loaded, library.empty() ? "of another version" : library)
                         : failed("Kernel module " + (loaded.empty() ? "" : loaded + " ") +
                                  "is loaded, the user library is " +
                                  (library.empty() ? "of another version" : library) +
                                  ": the driver was upgraded without a reboot.");
    if (!loaded.empty()) verdict.because(host.driver.place);
    if (differs) verdict.because(host.library.place, "libnvidia-ml.so." + loaded);
    if (said) verdict.because(facts.nvml.place, "NVML initialises");
    if (mixed) return verdict;
    verdict.fix("kubectl drain NODE --ignore-daemonsets --delete-emptydir-data; sudo reboot",
                Risk::kDrainReboot);
    verdict.note(
        "Without a reboot, when no program uses the GPU: sudo rmmod nvidia_uvm nvidia_drm "
        "nvidia_modeset nvidia && sudo modprobe nvidia. Hold the packages afterwards: sudo "
        "apt-mark hold '*nvidia*'");
    return verdict;
}

Verdict judge_library(const Facts& facts) {
    const bool said = facts.nvml.state == NvmlState::kFailed && facts.nvml.code == 12;
    if (!said && !facts.host.library.absent()) {
        if (facts.host.library.unknown() && !answered(facts)) {
            return unknown(facts.host.library.reason);
        }
        return ok("libnvidia-ml.so.1 is there" + (facts.host.library.place.path.empty()
                                                      ? ""
                                                      : ": " + facts.host.library.place.path));
    }
    if (answered(facts)) return ok("NVML answers");
    if (facts.host.jetson) return not_here("a Jetson need not have NVML");
    auto verdict = failed("libnvidia-ml.so.1 is not in the host's library path.");
    if (said) verdict.because(facts.nvml.place, "NVML opens");
    if (facts.host.library.absent()) {
        verdict.because(Evidence{.path =
                                     "/usr/lib/x86_64-linux-gnu, /usr/lib64, /usr/lib/wsl/lib, "
                                     "/run/opengl-driver/lib, /home/kubernetes/bin/nvidia/lib64",
                                 .value = "no libnvidia-ml.so*",
                                 .expected = "libnvidia-ml.so.1"});
    }
    const std::string branch = facts.host.driver.ok() ? facts.host.driver.value.substr(
                                                            0, facts.host.driver.value.find('.'))
                                                      : "NNN";
    verdict.fix("sudo apt install libnvidia-compute-" + branch);
    return verdict;
}

Verdict judge_lost(const Facts& facts) {
    const NvmlGpu* const gpu = first_gpu(facts, [](const NvmlGpu& one) { return one.error == 15; });
    const Xid* xid = nullptr;
    for (const Xid& one : facts.host.xids) {
        if (one.number == 79) xid = &one;
    }
    const bool whole = facts.nvml.state == NvmlState::kFailed && facts.nvml.code == 15;
    const LogLine* line = nullptr;
    for (const LogLine& one : facts.host.kernel_log) {
        if (contains_folded(one.text, "fallen off the bus")) line = &one;
    }
    if (gpu == nullptr && xid == nullptr && !whole && line == nullptr) {
        if (facts.nvml.state == NvmlState::kUnknown && !facts.host.kernel_log_read.ok()) {
            return unknown(facts.nvml.reason);
        }
        return ok("no GPU is lost");
    }
    const std::string name = gpu != nullptr   ? name_of(*gpu)
                             : xid != nullptr ? "GPU " + xid->address
                                              : "a GPU";
    auto verdict = failed((name == "a GPU" ? "A GPU" : name) + " fell off the bus" +
                          (xid != nullptr ? " (Xid 79)." : "."));
    if (gpu != nullptr) verdict.because(gpu->place, "the GPU answers");
    if (whole) verdict.because(facts.nvml.place, "the GPU answers");
    if (xid != nullptr) {
        verdict.because(xid->place, "no Xid 79");
    } else if (line != nullptr) {
        verdict.because(line->place, "no such message");
    }
    verdict.fix(
        "kubectl cordon NODE && kubectl drain NODE --ignore-daemonsets --delete-emptydir-data && "
        "sudo "
        "ipmitool chassis power cycle",
        Risk::kDrain);
    verdict.note(
        "A reboot alone often does not bring it back: power must go. If it happens again: "
        "power cables, riser, cooling, then a replacement. With NVIDIA's device plugin no pod "
        "of this node gets a GPU until it is cordoned.");
    return verdict;
}

/// The error of the hardware or the driver in the kernel log that led to it; nullptr: none is there.
const Xid* xid_before_reset(const Facts& facts, const NvmlGpu& gpu) {
    const Xid* found = nullptr;
    for (const Xid& one : facts.host.xids) {
        const auto* const known = catalog::find_xid(one.number);
        if (known == nullptr || one.address.empty()) continue;
        if (!std::string_view(gpu.address).starts_with(one.address)) continue;
        if (known->kind == catalog::XidClass::kHardware) return &one;
        if (known->kind == catalog::XidClass::kDriver) found = &one;
    }
    return found;
}

Verdict judge_reset(const Facts& facts) {
    const NvmlGpu* const gpu = first_gpu(facts, [](const NvmlGpu& one) {
        return one.error == 16 || one.recovery_action == "Reset" ||
               one.recovery_action == "GPU Reset" || one.recovery_action == "Reboot" ||
               one.recovery_action == "Drain and Reset";
    });
    const bool whole = facts.nvml.state == NvmlState::kFailed && facts.nvml.code == 16;
    if (gpu == nullptr && !whole) {
        return answered(facts) ? ok("no GPU asks for a reset") : not_answered(facts);
    }
    const std::string index = gpu == nullptr ? "0" : std::to_string(gpu->index);
    const Xid* const xid = gpu == nullptr ? nullptr : xid_before_reset(facts, *gpu);
    const std::string why = xid == nullptr
                                ? "a row remapping is pending, or an uncontained error"
                                : "Xid " + std::to_string(xid->number) + ", " +
                                      std::string(catalog::find_xid(xid->number)->meaning);
    auto verdict =
        failed((gpu == nullptr ? "A GPU" : name_of(*gpu)) + " needs a reset (" + why + ").");
    if (xid != nullptr) verdict.because(xid->place, "no Xid");
    verdict.because(gpu == nullptr ? facts.nvml.place : gpu->place, "recovery action None");
    if (gpu != nullptr && !gpu->recovery_action.empty()) {
        verdict.because(place_of(*gpu, "recovery action " + gpu->recovery_action), "None");
    }
    verdict.fix(
        "kubectl drain NODE --ignore-daemonsets --delete-emptydir-data && sudo nvidia-smi "
        "--gpu-reset -i " +
            index,
        Risk::kDrain);
    verdict.note("When the reset is refused: reboot the node.");
    return verdict;
}

Verdict judge_count(const Facts& facts) {
    if (!answered(facts)) return not_answered(facts);
    if (facts.host.gpus.unknown()) return unknown(facts.host.gpus.reason);
    const std::size_t nvml = facts.nvml.gpus.size();
    const std::size_t kernel = facts.host.gpus.value.size();
    if (nvml >= kernel) return ok("NVML lists all " + std::to_string(nvml) + " GPUs");
    auto verdict = failed("NVML lists " + std::to_string(nvml) + " GPUs, the kernel driver knows " +
                          std::to_string(kernel) + ".");
    verdict.because(facts.nvml.place, std::to_string(kernel) + " GPUs");
    verdict.because(
        Evidence{.path = "/proc/driver/nvidia/gpus", .value = std::to_string(kernel) + " GPUs"});
    verdict.fix("sudo dmesg | grep -iE 'nvrm|xid'");
    verdict.note("Look at the missing GPU's messages, then power cycle the node.");
    return verdict;
}

Verdict judge_inforom(const Facts& facts) {
    const NvmlGpu* const gpu = first_gpu(facts, [](const NvmlGpu& one) {
        return one.error == 14 || contains_folded(one.infrom_corrupt, "corrupt");
    });
    const bool whole = facts.nvml.state == NvmlState::kFailed && facts.nvml.code == 14;
    if (gpu == nullptr && !whole) {
        return answered(facts) ? ok("no infoROM is corrupt") : not_answered(facts);
    }
    auto verdict = failed((gpu == nullptr ? "A GPU" : name_of(*gpu)) +
                          ": infoROM corrupt. nvidia-smi returns 14 and gpu-operator's validator "
                          "never passes.");
    verdict.because(gpu == nullptr ? facts.nvml.place : gpu->place, "a valid infoROM");
    verdict.note(
        "The card still computes; plan its replacement. Until then use a validator that "
        "tolerates exit code 14.");
    return verdict;
}

Verdict judge_fabric(const Facts& facts) {
    const NvmlGpu* const gpu = first_gpu(facts, [](const NvmlGpu& one) {
        return contains_folded(one.fabric_state, "in progress") ||
               contains_folded(one.fabric_state, "not started") || one.fabric_state == "2";
    });
    const bool service = facts.host.program("nv-fabricmanage") != nullptr;
    const bool needed = facts.host.has_switches() && facts.tree.complete && !service;
    if (gpu == nullptr && !needed) {
        if (!facts.host.has_switches()) return not_here("no NVSwitch");
        return ok("the NVSwitch fabric is up");
    }
    auto verdict = failed(
        "The NVSwitch fabric is not up: CUDA fails with 802 (system not yet "
        "initialized). Fabric Manager is not running.");
    if (gpu != nullptr) {
        verdict.because(place_of(*gpu, "fabric state " + gpu->fabric_state), "Completed");
    }
    if (needed) {
        verdict.because(Evidence{.path = "/proc",
                                 .value = "no process nv-fabricmanager",
                                 .expected = "nv-fabricmanager"});
    }
    verdict.fix("sudo systemctl enable --now nvidia-fabricmanager");
    verdict.note("It must have exactly the driver's version.");
    return verdict;
}

Verdict judge_cuda(const Facts& facts) {
    if (!answered(facts)) return not_answered(facts);
    if (facts.nvml.cuda.empty()) return unknown("NVML did not tell the CUDA version");
    return ok("the driver runs CUDA up to " + facts.nvml.cuda);
}

Verdict judge_wsl(const Facts& facts) {
    if (!facts.host.wsl) return not_here("not WSL2");
    return ok("WSL2: one device 'all'; single GPUs, MIG and MPS are not to be had");
}

Verdict judge_answers(const Facts& facts) {
    if (facts.nvml.state != NvmlState::kHung) {
        return facts.nvml.state == NvmlState::kUnknown ? unknown(facts.nvml.reason)
                                                       : ok("NVML answers in time");
    }
    auto verdict = failed("NVML did not answer within its deadline: the driver hangs.");
    verdict.because(facts.nvml.place, "an answer within 10 s");
    for (const Xid& xid : facts.host.xids) verdict.because(xid.place);
    verdict.fix("kubectl cordon NODE; sudo dmesg | grep -E 'Xid|NVRM' | tail; sudo reboot",
                Risk::kReboot);
    return verdict;
}

Verdict judge_code(const Facts& facts) {
    if (facts.nvml.state != NvmlState::kFailed) {
        return answered(facts) ? ok("NVML initialises") : not_answered(facts);
    }
    const int code = facts.nvml.code;
    if (code == 4) {
        auto verdict = failed("NVML: insufficient permissions (code 4).");
        verdict.because(facts.nvml.place, "NVML initialises");
        verdict.fix("ls -lZ /dev/nvidia*");
        verdict.note("The mode of /dev/nvidia* shuts this user out, or SELinux does.");
        return verdict;
    }
    std::string meaning = code == 9    ? "the driver is not loaded"
                          : code == 11 ? "the GPU's interrupt does not work"
                          : code == 13 ? "the library is older than its caller"
                          : code == 17 ? "the operating system or a cgroup blocks the GPU"
                          : code == 23 ? "insufficient resources"
                          : code == 28 ? "the GPU was not found"
                          : code == 999
                              ? "unknown error: often GSP firmware after an Xid, or a cgroup"
                              : "an error";
    auto verdict = failed("NVML fails with code " + std::to_string(code) + ": " + meaning + ".");
    verdict.because(facts.nvml.place, "NVML initialises");
    for (const Xid& xid : facts.host.xids) verdict.because(xid.place);
    verdict.fix("sudo dmesg | grep -E 'NVRM|Xid' | tail -50");
    verdict.note(code == 11
                     ? "Look at the interrupt of the GPU in /proc/interrupts; a BIOS update or "
                       "another slot fixes it."
                     : "Reload the module or reboot the node; drain it first.");
    return verdict;
}

constexpr std::string_view kNoLibrary = "NVML001 NVML002 NVML015";

constexpr Check kNvmlChecks[] = {
    {"NVML001", Level::kNvml, true, "", judge_same_version},
    {"NVML002", Level::kNvml, true, "NVML001", judge_library},
    {"NVML003", Level::kNvml, false, "DRV009 NVML001 NVML002", judge_lost},
    {"NVML004", Level::kNvml, false, "NVML001 NVML002 NVML003", judge_reset},
    {"NVML006", Level::kNvml, false, "NVML001 NVML002 NVML003", judge_inforom},
    {"NVML015", Level::kNvml, true, "NVML001 NVML002 NVML003", judge_answers},
    {"NVML016", Level::kNvml, true, "DRV017 NVML001 NVML002 NVML003 NVML004 NVML006 NVML015",
     judge_code},
    {"NVML005", Level::kNvml, false, "NVML001 NVML002 NVML003 NVML015 NVML016 DRV009 DRV017",
     judge_count},
    {"NVML007", Level::kNvml, true, "NVML001 NVML002 NVML003 NVML015 NVML016 DRV016", judge_fabric},
    {"NVML012", Level::kNvml, false, kNoLibrary, judge_cuda},
    {"NVML014", Level::kNvml, false, "", judge_wsl},
};

}  // namespace

std::span<const Check> nvml_checks() { return kNvmlChecks; }

}  // namespace aliquot::doctor
