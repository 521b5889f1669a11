// SPDX-License-Identifier: Apache-2.0
// How the loaded kernel module fares.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <iterator>

#include "base/number.h"
#include "base/text.h"
#include "catalog/drivers.h"
#include "doctor/check.h"
#include "doctor/driver_checks.h"
#include "doctor/nvml_gpu.h"
#include "doctor/text.h"

namespace aliquot::doctor {
namespace {

constexpr std::string_view kNotLoaded = "DRV001 DRV002 DRV003 DRV004 DRV005 DRV006 DRV007";

std::string day_of(std::int64_t seconds) {
    const std::chrono::sys_days day{
        std::chrono::floor<std::chrono::days>(std::chrono::seconds(seconds))};
    const std::chrono::year_month_day date{day};
    char text[32];
    std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
    return text;
}

Verdict judge_two_drivers(const Facts& facts) {
    const Object* pod = nullptr;
    for (const Object& one : facts.cluster.all("Pod")) {
        const auto labels = labels_of(one);
        const auto component = labels.find("app.kubernetes.io/component");
        const bool driver = (component != labels.end() && component->second == "nvidia-driver") ||
                            one.name.starts_with("nvidia-driver-daemonset");
        if (driver && !is_finished(one)) pod = &one;
    }
    const bool container = facts.tree.has_beneath("/run/nvidia/driver/usr") ||
                           facts.tree.has("/run/nvidia/validations/.driver-ctr-ready");
    const bool on_host = !facts.host.libraries.empty();
    const bool labelled = std::ranges::any_of(facts.cluster.all("Node"), [](const Object& node) {
        const auto labels = labels_of(node);
        const auto found = labels.find("nvidia.com/gpu.deploy.driver");
        return found != labels.end() && found->second == "pre-installed";
    });
    if ((!on_host && !labelled) || (pod == nullptr && !container)) {
        return ok("the driver comes from one source");
    }
    auto verdict =
        failed("Two drivers on one node: the host has its own" +
               (facts.host.library.value.empty() ? "" : " (" + facts.host.library.value + ")") +
               ", and gpu-operator runs a driver container.");
    if (on_host) verdict.because(facts.host.library.place, "one driver");
    if (pod != nullptr) verdict.because(Evidence{.path = pod->path, .value = "pod " + pod->id()});
    if (container) verdict.because(Evidence{.path = "/run/nvidia/driver", .value = "present"});
    verdict.fix(
        "helm upgrade gpu-operator nvidia/gpu-operator -n gpu-operator --reuse-values --set "
        "driver.enabled=false",
        Risk::kRestartPods);
    return verdict;
}

/// What the driver says when it gives up a GPU, and what is meant.
struct StartFailure {
    std::string_view text;  // of the kernel log
    std::string_view what;
    std::string_view fix;
};
constexpr std::array<StartFailure, 5> kStartFailures{{
    {"power cables", "a GPU has no power from its own cables",
     "Switch the node off and plug in the card's power cables, each from its own outlet of the "
     "power supply."},
    {"insufficient power", "a GPU does not get enough power",
     "Switch the node off and plug in the card's power cables; look at the size of the power "
     "supply."},
    {"Direct firmware load for nvidia/", "the firmware of the GPU's GSP is not on the disk",
     "Install the driver's firmware again, of exactly the version of the module "
     "(/lib/firmware/nvidia/VERSION/gsp_*.bin), and rebuild the initramfs."},
    {"RmFetchGspRmImages", "the firmware of the GPU's GSP is not on the disk",
     "Install the driver's firmware again, of exactly the version of the module "
     "(/lib/firmware/nvidia/VERSION/gsp_*.bin), and rebuild the initramfs."},
    {"VBIOS image is invalid", "the VBIOS of a GPU cannot be read",
     "Power-cycle the node; when it stays so, the card needs a replacement."},
}};

Verdict judge_start(const Facts& facts) {
    if (!facts.host.kernel_log_read.ok()) return unknown(facts.host.kernel_log_read.reason);
    const bool all_answer = answered(facts) && !facts.nvml.gpus.empty() &&
                            facts.nvml.gpus.size() >= facts.host.pci_gpus().size();
    if (all_answer) return ok("every GPU answers");
    for (const StartFailure& one : kStartFailures) {
        for (const LogLine& line : facts.host.kernel_log) {
            if (!contains_folded(line.text, one.text)) continue;
            auto verdict = failed("The driver cannot start a GPU: " + std::string(one.what) + '.');
            verdict.because(line.place, "no such message");
            verdict.note(std::string(one.fix));
            return verdict;
        }
    }
    return ok("the driver does not say why a GPU would not start");
}

Verdict judge_all_initialised(const Facts& facts) {
    if (!facts.host.pci.ok()) return unknown(facts.host.pci.reason);
    if (facts.host.gpus.unknown()) return unknown(facts.host.gpus.reason);
    std::vector<std::string> missing;
    std::size_t wanted = 0;
    for (const PciDevice& gpu : facts.host.pci_gpus()) {
        if (gpu.driver.starts_with("vfio") || gpu.driver == "nouveau") continue;
        ++wanted;
        if (std::ranges::find(facts.host.gpus.value, gpu.address, &KernelGpu::address) ==
            facts.host.gpus.value.end()) {
            missing.push_back(gpu.address);
        }
    }
    const std::size_t have = facts.host.gpus.value.size();
    if (have >= wanted) return ok("the driver initialised all " + std::to_string(have) + " GPUs");
    auto verdict = failed("PCI shows " + std::to_string(wanted) + " GPUs, the driver initialised " +
                          std::to_string(have) + " (missing " + join(missing) + ").");
    verdict.because(facts.host.pci.place, std::to_string(wanted) + " GPUs");
    verdict.because(Evidence{.path = "/proc/driver/nvidia/gpus",
                             .value = std::to_string(have) + " GPUs",
                             .expected = std::to_string(wanted)});
    for (const LogLine& line : facts.host.kernel_log) {
        const bool about = std::ranges::any_of(missing, [&](const std::string& address) {
            return line.text.contains(address) ||
                   line.text.contains(address.substr(0, address.find('.')));
        });
        if (about || line.text.contains("RmInitAdapter")) verdict.because(line.place);
    }
    verdict.fix(
        "kubectl drain NODE --ignore-daemonsets --delete-emptydir-data && sudo ipmitool chassis "
        "power "
        "cycle",
        Risk::kDrain);
    verdict.note(
        "A GPU that is missing after a power cycle is a hardware matter: power cables, seat, "
        "then a replacement.");
    return verdict;
}

Verdict judge_branch(const Facts& facts) {
    if (!facts.host.driver.ok() || facts.host.driver.value.empty()) return not_here("no driver");
    const auto number = leading_number(facts.host.driver.value).value_or(0);
    const auto* const branch = catalog::find_driver_branch(static_cast<unsigned>(number));
    if (branch == nullptr) {
        return unknown("branch R" + std::to_string(number) + " is not in our table");
    }
    const std::string name = "R" + std::to_string(number);
    if (facts.now_s == 0) return unknown("the date of these facts is not known");
    if (!branch->ended(day_of(facts.now_s))) {
        return ok(name + " (" + std::string(branch->kind) + ") gets fixes until " +
                  (branch->end.empty() ? "further notice" : std::string(branch->end)));
    }
    auto verdict = warning("Driver branch " + name + " is past its end of life (" +
                           std::string(branch->end) + ").");
    verdict.because(facts.host.driver.place, "a branch that still gets fixes");
    verdict.note("Upgrade to R580 (long-term support until 2028-06) or a newer production branch.");
    return verdict;
}

Verdict judge_persistence(const Facts& facts) {
    bool told = false;
    for (const NvmlGpu& gpu : facts.nvml.gpus) {
        if (!gpu.persistence) continue;
        told = true;
        if (*gpu.persistence) continue;
        if (facts.host.program("nvidia-persiste") != nullptr) continue;
        auto verdict = warning(
            "Persistence mode is off: the first CUDA call of a container takes "
            "seconds, and nvidia-container-cli may time out.");
        verdict.because(Evidence{.path = gpu.place.path,
                                 .line = gpu.place.line,
                                 .value = "GPU " + std::to_string(gpu.index) + ": off",
                                 .expected = "on"});
        verdict.fix("sudo systemctl enable --now nvidia-persistenced");
        return verdict;
    }
    if (told || facts.host.program("nvidia-persiste") != nullptr)
        return ok("persistence mode is on");
    return unknown("NVML did not tell the persistence mode");
}

Verdict judge_nodes(const Facts& facts) {
    const auto& tree = facts.tree;
    const auto nodes = tree.paths("/dev/nvidia*");
    if (nodes.empty() && !tree.complete && !tree.has_beneath("/dev")) {
        return unknown("/dev is not part of what was given");
    }
    if (nodes.empty() && facts.host.wsl) return ok("WSL2: /dev/dxg stands for the GPU");
    if (nodes.empty() && facts.host.jetson) return ok("a Jetson: /dev/nvhost-gpu and others");
    if (nodes.empty()) {
        auto verdict = failed("/dev has no device node of the driver: no program can reach a GPU.");
        verdict.because(
            Evidence{.path = "/dev/nvidia*", .value = "none", .expected = "device nodes"});
        verdict.fix("sudo nvidia-modprobe -c 0 -u");
        return verdict;
    }
    if (!tree.has("/dev/nvidia-uvm")) {
        auto verdict =
            failed("nvidia-uvm is not loaded: NVML works, but CUDA fails with error 999 or 3.");
        verdict.because(
            Evidence{.path = "/dev/nvidia-uvm", .value = "not there", .expected = "a device node"});
        verdict.fix("sudo nvidia-modprobe -u -c 0");
        verdict.edit("/etc/modules-load.d/aliquot-nvidia-uvm.conf: nvidia-uvm", Risk::kNone);
        return verdict;
    }
    if (!tree.has("/dev/nvidiactl")) {
        auto verdict = failed("/dev/nvidiactl is missing: no program can reach the driver.");
        verdict.because(
            Evidence{.path = "/dev/nvidiactl", .value = "not there", .expected = "a device node"});
        verdict.fix("sudo nvidia-modprobe");
        return verdict;
    }
    for (const KernelGpu& gpu : facts.host.gpus.value) {
        if (!gpu.minor) continue;
        const std::string node = "/dev/nvidia" + std::to_string(*gpu.minor);
        if (tree.has(node)) continue;
        auto verdict = failed(node + " is missing: no program can use GPU " + gpu.address + ".");
        verdict.because(Evidence{.path = node, .value = "not there", .expected = "a device node"});
        verdict.because(gpu.place, "the kernel driver has the GPU");
        verdict.fix("sudo nvidia-modprobe -c " + std::to_string(*gpu.minor));
        return verdict;
    }
    return ok("the device nodes are there");
}

Verdict judge_device_links(const Facts& facts) {
    const auto& tree = facts.tree;
    const bool looked =
        tree.complete ? !tree.paths("/dev/nvidia*").empty() : tree.has_beneath("/dev/char");
    if (!looked) return unknown("/dev/char is not part of what was given");
    if (!tree.paths("/dev/char/195:*").empty()) return ok("/dev/char has links for the GPUs");
    const auto* const handler = facts.runtime.nvidia_handler();
    const std::string mode =
        facts.toolkit.config.ok()
            ? text_at(facts.toolkit.config.value.root, {"nvidia-container-runtime", "mode"})
            : "";
    const bool legacy = handler != nullptr && mode != "cdi" && mode != "jit-cdi";
    const bool systemd = handler != nullptr && handler->systemd_cgroup.value_or(
                                                   facts.runtime.systemd_cgroup.value_or(false));
    if (!legacy || !systemd) return ok("nothing here needs links in /dev/char");
    auto verdict = warning(
        "After `systemctl daemon-reload` running containers may lose the GPU (NVML: "
        "Unknown Error): /dev/char has no links to the GPU's device nodes.");
    verdict.because(
        Evidence{.path = "/dev/char", .value = "no 195:*", .expected = "links to /dev/nvidia*"});
    verdict.because(handler->place);
    verdict.fix("sudo nvidia-ctk system create-dev-char-symlinks --create-all");
    verdict.note("Or use CDI, which gives systemd the device names themselves.");
    verdict.as(Confidence::kLikely);
    return verdict;
}

Verdict judge_permissions(const Facts& facts) {
    const std::string path = "/proc/driver/nvidia/params";
    const std::string* const text = facts.tree.text(path);
    if (text == nullptr) return unknown(path + " was not read");
    Location mode_place;
    std::int64_t mode = 0666;
    for_each_line(*text, [&](std::string_view line, unsigned number) {
        if (!line.starts_with("DeviceFileMode:")) return;
        mode = leading_number(after(line, ":")).value_or(0666);
        mode_place = place_in(path, number, line);
    });
    if ((mode & 0006) == 0006) return ok("device files are for everybody (0666)");
    auto verdict = warning(
        "The driver gives its device files a mode that shuts out users who are not "
        "root; pods with runAsUser cannot open the GPU.");
    verdict.because(mode_place, "DeviceFileMode: 438 (0666)");
    verdict.fix(
        "echo 'options nvidia NVreg_DeviceFileMode=0666' | sudo tee "
        "/etc/modprobe.d/nvidia-mode.conf",
        Risk::kReloadModule);
    return verdict;
}

Verdict judge_upgraded(const Facts& facts) {
    if (!facts.host.booted_s.ok()) return unknown("the time of the last boot is not known");
    bool read = false;
    Verdict found = ok("no NVIDIA package changed since the boot");
    for (const char* const path : {"/var/log/apt/history.log", "/var/log/dnf.rpm.log"}) {
        const std::string* const text = facts.tree.text(path);
        if (text == nullptr) continue;
        read = true;
        std::int64_t when = 0;
        for_each_line(*text, [&](std::string_view line, unsigned number) {
            const std::string_view start = trim(after(line, "Start-Date:"));
            if (!start.empty()) {
                const auto clock = start.find_last_of(' ') + 1;
                when = time_of(concat({start.substr(0, 10), "T", start.substr(clock), "Z"}))
                           .value_or(0);
            }
            if (const auto own = time_of(concat({line.substr(0, 19), "Z"}))) when = *own;
            const bool change = line.starts_with("Upgrade:") || line.starts_with("Install:") ||
                                line.contains("Upgrade: ") || line.contains("Upgraded: ");
            const bool driver = line.contains("libnvidia-compute") ||
                                line.contains("nvidia-driver") || line.contains("libnvidia-ml") ||
                                line.contains("nvidia-kernel");
            if (!change || !driver || when <= facts.host.booted_s.value) return;
            found = warning("NVIDIA packages were changed on " + day_of(when) +
                            ", after the last boot (" + day_of(facts.host.booted_s.value) + ").");
            found.because(place_in(path, number, line), "a reboot after it");
            found.fix("sudo reboot", Risk::kReboot);
            found.note(
                "Hold the packages so that it does not happen by itself: sudo apt-mark hold "
                "'*nvidia*'");
        });
    }
    return read ? found : unknown("no package log was read");
}

Verdict judge_fabric_version(const Facts& facts) {
    if (!facts.host.driver.ok()) return not_here("no driver is loaded");
    for (const char* const pattern :
         {"cmd/fabric*", "cmd/nv-fabric*", "/var/log/fabricmanager.log"}) {
        for (const std::string& path : facts.tree.paths(pattern)) {
            const std::string* const text = facts.tree.text(path);
            if (text == nullptr) continue;
            Location place;
            std::string version;
            for_each_line(*text, [&](std::string_view line, unsigned number) {
                if (!contains_folded(line, "version")) return;
                const std::string seen = driver_version_in(line);
                if (seen.empty()) return;
                version = seen;  // the last start counts
                place = place_in(path, number, line);
            });
            if (version.empty()) continue;
            if (version == facts.host.driver.value) {
                return ok("Fabric Manager is of the driver's version");
            }
            auto verdict = failed("Fabric Manager " + version + " is not the driver's version " +
                                  facts.host.driver.value + ": they must be the same build.");
            verdict.because(place, facts.host.driver.value);
            verdict.because(facts.host.driver.place);
            verdict.fix("sudo apt install nvidia-fabricmanager-" +
                            facts.host.driver.value.substr(0, facts.host.driver.value.find('.')) +
                            "=" + facts.host.driver.value +
                            "-1 && sudo systemctl restart nvidia-fabricmanager",
                        Risk::kNone);
            return verdict;
        }
    }
    if (!facts.host.has_switches()) return not_here("no NVSwitch, no Fabric Manager");
    return unknown("the version of Fabric Manager is not known");
}

constexpr Check kDriverStateChecks[] = {
    {"DRV008", Level::kDriver, false, "", judge_two_drivers},
    {"DRV017", Level::kDriver, false, kNotLoaded, judge_start},
    {"DRV009", Level::kDriver, false,
     "DRV001 DRV002 DRV003 DRV004 DRV005 DRV006 DRV007 DRV017 HW006 HW010", judge_all_initialised},
    {"DRV010", Level::kDriver, false, kNotLoaded, judge_branch},
    {"DRV011", Level::kDriver, false, kNotLoaded, judge_persistence},
    {"DRV012", Level::kDriver, true, kNotLoaded, judge_nodes},
    {"DRV013", Level::kDriver, false, kNotLoaded, judge_device_links},
    {"DRV014", Level::kDriver, false, kNotLoaded, judge_permissions},
    {"DRV015", Level::kDriver, false, kNotLoaded, judge_upgraded},
    {"DRV016", Level::kDriver, true, kNotLoaded, judge_fabric_version},
};

}  // namespace

std::vector<Check> driver_state_checks() {
    return {std::begin(kDriverStateChecks), std::end(kDriverStateChecks)};
}

}  // namespace aliquot::doctor
