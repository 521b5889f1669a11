// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "catalog/xid.h"
#include "doctor/check.h"
#include "doctor/text.h"

namespace aliquot::doctor {
namespace {

using NvmlState = NvmlFacts::State;

bool answered(const Facts& facts) { return facts.nvml.state == NvmlState::kOk; }

Verdict not_answered(const Facts& facts) {
    if (facts.nvml.state == NvmlState::kUnknown) return unknown(facts.nvml.reason);
    return not_here("NVML gave no answer");
}

Place place_of(const NvmlGpu& gpu, std::string text) {
    return {gpu.place.path, gpu.place.line, std::move(text)};
}

std::string name_of(const NvmlGpu& gpu) {
    if (gpu.index >= 1000) return gpu.address.empty() ? "a GPU" : "GPU " + gpu.address;
    return "GPU " + std::to_string(gpu.index) +
           (gpu.address.empty() ? "" : " (" + gpu.address + ")");
}

/// The first GPU that answers so.
template <class Predicate>
const NvmlGpu* first_gpu(const Facts& facts, Predicate predicate) {
    const auto found = std::ranges::find_if(facts.nvml.gpus, predicate);
    return found == facts.nvml.gpus.end() ? nullptr : &*found;
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
    auto verdict = failed("Kernel module " + (loaded.empty() ? "" : loaded + " ") +
                          "is loaded, the user library is " +
                          (library.empty() ? "of another version" : library) +
                          ": the driver was upgraded without a reboot.");
    if (!loaded.empty()) verdict.because(host.driver.place);
    if (differs) verdict.because(host.library.place, "libnvidia-ml.so." + loaded);
    if (said) verdict.because(facts.nvml.place, "NVML initialises");
    verdict.mend("kubectl drain NODE --ignore-daemonsets --delete-emptydir-data; sudo reboot",
                 "drain, reboot");
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
    verdict.mend("sudo apt install libnvidia-compute-" + branch);
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
    verdict.mend(
        "kubectl cordon NODE && kubectl drain NODE --ignore-daemonsets --delete-emptydir-data && "
        "sudo "
        "ipmitool chassis power cycle",
        "drain");
    verdict.note(
        "A reboot alone often does not bring it back: power must go. If it happens again: "
        "power cables, riser, cooling, then a replacement. With NVIDIA's device plugin no pod "
        "of this node gets a GPU until it is cordoned.");
    return verdict;
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
    auto verdict = failed((gpu == nullptr ? "A GPU" : name_of(*gpu)) +
                          " needs a reset (a row remapping is pending, or an uncontained error).");
    verdict.because(gpu == nullptr ? facts.nvml.place : gpu->place, "recovery action None");
    if (gpu != nullptr && !gpu->recovery_action.empty()) {
        verdict.because(place_of(*gpu, "recovery action " + gpu->recovery_action), "None");
    }
    verdict.mend(
        "kubectl drain NODE --ignore-daemonsets --delete-emptydir-data && sudo nvidia-smi "
        "--gpu-reset -i " +
            index,
        "drain");
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
    verdict.mend("sudo dmesg | grep -iE 'nvrm|xid'");
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
    verdict.mend("sudo systemctl enable --now nvidia-fabricmanager");
    verdict.note("It must have exactly the driver's version.");
    return verdict;
}

Verdict judge_exclusive(const Facts& facts) {
    if (!answered(facts)) return not_answered(facts);
    const NvmlGpu* const gpu = first_gpu(facts, [](const NvmlGpu& one) {
        const std::string mode = lower(one.compute_mode);
        return mode.starts_with("exclusive") || mode == "e. process" || mode == "3";
    });
    if (gpu == nullptr) return ok("no GPU is in an exclusive mode");
    const bool mps = facts.host.program("nvidia-cuda-mps") != nullptr ||
                     facts.tree.has_beneath("/run/nvidia/mps") ||
                     std::ranges::any_of(facts.cluster.all("Pod"), [](const Object& pod) {
                         return pod.name.contains("mps-control") && !is_finished(pod);
                     });
    if (mps) return ok("EXCLUSIVE_PROCESS, as MPS wants it");
    auto verdict = failed(name_of(*gpu) +
                          " is in EXCLUSIVE_PROCESS (left by MPS) and no MPS daemon "
                          "runs: the second process gets error 46, devices busy or unavailable.");
    verdict.because(place_of(*gpu, "compute mode " + gpu->compute_mode), "Default");
    verdict.mend("sudo nvidia-smi -i " + std::to_string(gpu->index) + " -c DEFAULT");
    return verdict;
}

Verdict judge_mig_pending(const Facts& facts) {
    if (!answered(facts)) return not_answered(facts);
    const NvmlGpu* const gpu = first_gpu(facts, [](const NvmlGpu& one) {
        return !one.mig_current.empty() && !one.mig_pending.empty() && one.mig_pending != "N/A" &&
               one.mig_current != one.mig_pending;
    });
    if (gpu == nullptr) return ok("no MIG mode change is pending");
    auto verdict = failed(name_of(*gpu) + ": a MIG mode change is pending (" + gpu->mig_current +
                          " now, " + gpu->mig_pending + " after a reset).");
    verdict.because(
        place_of(*gpu, "MIG current " + gpu->mig_current + ", pending " + gpu->mig_pending),
        "the same");
    verdict.mend(
        "kubectl drain NODE --ignore-daemonsets --delete-emptydir-data && sudo nvidia-smi "
        "--gpu-reset -i " +
            std::to_string(gpu->index),
        "drain");
    return verdict;
}

Verdict judge_mig_empty(const Facts& facts) {
    if (!answered(facts)) return not_answered(facts);
    const NvmlGpu* const gpu = first_gpu(facts, [](const NvmlGpu& one) {
        return one.mig_current == "Enabled" && one.mig_instances && *one.mig_instances == 0;
    });
    if (gpu == nullptr) return ok("no GPU is in MIG mode without an instance");
    auto verdict = failed(name_of(*gpu) +
                          ": MIG is on but there are 0 instances, so it offers "
                          "nothing.");
    verdict.because(place_of(*gpu, "MIG Enabled, 0 GPU instances"), "at least one");
    verdict.mend("sudo nvidia-smi mig -i " + std::to_string(gpu->index) + " -lgip");
    verdict.note(
        "Then create instances (nvidia-smi mig -cgi PROFILE -C, or the label "
        "nvidia.com/mig.config for mig-manager), or turn MIG off.");
    return verdict;
}

Verdict judge_ecc(const Facts& facts) {
    if (!answered(facts)) return not_answered(facts);
    if (const NvmlGpu* gpu =
            first_gpu(facts, [](const NvmlGpu& one) { return one.remap_failed.value_or(false); })) {
        auto verdict = failed(name_of(*gpu) +
                              ": a row could not be remapped; the card must be "
                              "replaced.");
        verdict.because(place_of(*gpu, "row remapping failed"), "no failure");
        verdict.note("Drain the node, open a case for a replacement.");
        return verdict;
    }
    if (const NvmlGpu* gpu = first_gpu(facts, [](const NvmlGpu& one) {
            return one.remap_pending.value_or(false) || one.pages_pending.value_or(false);
        })) {
        auto verdict = warning(name_of(*gpu) +
                               ": a row remapping is pending; it takes effect with "
                               "the next reset.");
        verdict.because(place_of(*gpu, "pending"), "none pending");
        verdict.mend("sudo nvidia-smi --gpu-reset -i " + std::to_string(gpu->index), "drain");
        return verdict;
    }
    if (const NvmlGpu* gpu = first_gpu(
            facts, [](const NvmlGpu& one) { return one.ecc_uncorrected.value_or(0) > 0; })) {
        auto verdict = failed(name_of(*gpu) + ": " + std::to_string(*gpu->ecc_uncorrected) +
                              " uncorrectable memory errors since the driver was loaded.");
        verdict.because(place_of(*gpu, std::to_string(*gpu->ecc_uncorrected)), "0");
        verdict.mend(
            "kubectl drain NODE --ignore-daemonsets --delete-emptydir-data && sudo nvidia-smi "
            "--gpu-reset -i " +
                std::to_string(gpu->index),
            "drain");
        verdict.note("When they come back after a reset: replace the card.");
        return verdict;
    }
    return ok("no memory errors, nothing to remap");
}

Verdict judge_cuda(const Facts& facts) {
    if (!answered(facts)) return not_answered(facts);
    if (facts.nvml.cuda.empty()) return unknown("NVML did not tell the CUDA version");
    return ok("the driver runs CUDA up to " + facts.nvml.cuda);
}

Verdict judge_license(const Facts& facts) {
    if (!answered(facts)) return not_answered(facts);
    const NvmlGpu* const gpu = first_gpu(
        facts, [](const NvmlGpu& one) { return contains_folded(one.license, "unlicensed"); });
    if (gpu == nullptr) return ok("no vGPU is without a licence");
    auto verdict = failed(name_of(*gpu) +
                          ": the vGPU has no licence; its clocks are limited after 20 "
                          "minutes.");
    verdict.because(place_of(*gpu, gpu->license), "Licensed");
    verdict.mend("sudo systemctl restart nvidia-gridd && nvidia-smi -q | grep -i license");
    verdict.note(
        "Put the client token into /etc/nvidia/ClientConfigToken/ and look at "
        "/etc/nvidia/gridd.conf.");
    return verdict;
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
    verdict.mend("kubectl cordon NODE; sudo dmesg | grep -E 'Xid|NVRM' | tail; sudo reboot",
                 "reboot");
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
        verdict.mend("ls -lZ /dev/nvidia*");
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
    verdict.mend("sudo dmesg | grep -E 'NVRM|Xid' | tail -50");
    verdict.note(code == 11
                     ? "Look at the interrupt of the GPU in /proc/interrupts; a BIOS update or "
                       "another slot mends it."
                     : "Reload the module or reboot the node; drain it first.");
    return verdict;
}

Verdict judge_xids(const Facts& facts, catalog::XidClass kind) {
    const Xid* last = nullptr;
    unsigned count = 0;
    for (const Xid& one : facts.host.xids) {
        const auto* const known = catalog::find_xid(one.number);
        const auto is = known == nullptr ? catalog::XidClass::kDriver : known->kind;
        if (is != kind || one.number == 79) continue;
        last = &one;
        ++count;
    }
    if (last == nullptr) {
        if (!facts.host.kernel_log_read.ok()) return unknown(facts.host.kernel_log_read.reason);
        return ok("no Xid of this class in the kernel log");
    }
    const auto* const known = catalog::find_xid(last->number);
    // Some driver errors want no more than a restart of the application.
    const bool serious = kind == catalog::XidClass::kHardware ||
                         (kind == catalog::XidClass::kDriver && known != nullptr &&
                          !known->action.starts_with("restart the application"));
    const std::string text = "Xid " + std::to_string(last->number) + " at GPU " + last->address +
                             ": " +
                             (known == nullptr ? "not in our table" : std::string(known->meaning)) +
                             " (" + std::string(catalog::word(kind)) +
                             (count > 1 ? ", " + std::to_string(count) + " such" : "") + ").";
    auto verdict = serious ? failed(text) : warning(text);
    verdict.because(last->place, "no Xid");
    if (known != nullptr) {
        verdict.note(std::string(known->action) +
                     (known->plugin_unhealthy
                          ? " NVIDIA's device plugin takes the GPU away until it is restarted."
                          : ""));
    } else {
        verdict.note("Look the number up in NVIDIA's Xid catalogue.");
    }
    verdict.as(Confidence::kLikely);
    return verdict;
}

Verdict judge_xid_hardware(const Facts& facts) {
    return judge_xids(facts, catalog::XidClass::kHardware);
}
Verdict judge_xid_driver(const Facts& facts) {
    return judge_xids(facts, catalog::XidClass::kDriver);
}
Verdict judge_xid_application(const Facts& facts) {
    return judge_xids(facts, catalog::XidClass::kApplication);
}
Verdict judge_xid_information(const Facts& facts) {
    return judge_xids(facts, catalog::XidClass::kInformation);
}

constexpr std::string_view kNoLibrary = "NVML001 NVML002 NVML015";
constexpr std::string_view kNoAnswer = "NVML001 NVML002 NVML003 NVML015 NVML016";

constexpr Check kChecks[] = {
    {"NVML001", Level::kNvml, true, "", judge_same_version},
    {"NVML002", Level::kNvml, true, "NVML001", judge_library},
    {"NVML003", Level::kNvml, false, "DRV009 NVML001 NVML002", judge_lost},
    {"NVML004", Level::kNvml, false, "NVML001 NVML002 NVML003", judge_reset},
    {"NVML006", Level::kNvml, false, "NVML001 NVML002 NVML003", judge_inforom},
    {"NVML015", Level::kNvml, true, "NVML001 NVML002 NVML003", judge_answers},
    {"NVML016", Level::kNvml, true, "NVML001 NVML002 NVML003 NVML004 NVML006 NVML015", judge_code},
    {"NVML005", Level::kNvml, false, "NVML001 NVML002 NVML003 NVML015 NVML016 DRV009", judge_count},
    {"NVML007", Level::kNvml, true, "NVML001 NVML002 NVML003 NVML015 NVML016 DRV016", judge_fabric},
    {"NVML008", Level::kNvml, false, kNoAnswer, judge_exclusive},
    {"NVML009", Level::kNvml, false, kNoAnswer, judge_mig_pending},
    {"NVML010", Level::kNvml, false, "NVML001 NVML002 NVML003 NVML009 NVML015 NVML016",
     judge_mig_empty},
    {"NVML011", Level::kNvml, false, "NVML001 NVML002 NVML003 NVML004 NVML015 NVML016", judge_ecc},
    {"NVML012", Level::kNvml, false, kNoLibrary, judge_cuda},
    {"NVML013", Level::kNvml, false, kNoAnswer, judge_license},
    {"NVML014", Level::kNvml, false, "", judge_wsl},
    {"XID001", Level::kNvml, false, "DRV009 NVML003 NVML004 NVML011 NVML015 NVML016",
     judge_xid_hardware},
    {"XID002", Level::kNvml, false, "DRV009 NVML003 NVML004 NVML011 NVML015 NVML016 XID001",
     judge_xid_driver},
    {"XID003", Level::kNvml, false, "DRV009 NVML003 NVML004 XID001 XID002", judge_xid_application},
    {"XID004", Level::kNvml, false, "DRV009 NVML003 NVML004 XID001 XID002", judge_xid_information},
};

}  // namespace

std::span<const Check> nvml_checks() { return kChecks; }

}  // namespace aliquot::doctor
