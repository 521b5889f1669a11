// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>

#include "base/number.h"
#include "base/text.h"
#include "catalog/gpu_models.h"
#include "doctor/check.h"
#include "doctor/text.h"

namespace aliquot::doctor {
namespace {

std::string id_text(unsigned device) {
    char text[16];
    std::snprintf(text, sizeof text, "%04x", device & 0xffffU);
    return text;
}

/// "0000:01:00.0 (A2)"
std::string name_of(const PciDevice& device) {
    std::string name = device.address;
    const auto models = catalog::gpu_models_with_pci_id(id_text(device.device));
    if (!models.empty()) {
        name += " (" + std::string(models[0]->name) + ")";
    } else if (!device.name.empty()) {
        name += " (" + clip(device.name, 40) + ")";
    }
    return name;
}

/// Signs of a GPU when nobody listed the bus.
bool other_signs(const Facts& facts) {
    return !facts.host.gpus.value.empty() || !facts.nvml.gpus.empty() || facts.host.driver.ok() ||
           facts.host.modules.value.contains("nouveau") || !facts.host.modinfo.empty() ||
           !facts.host.module_files.empty() || facts.nvml.state != NvmlFacts::State::kUnknown ||
           std::ranges::any_of(facts.host.kernel_log,
                               [](const LogLine& line) { return line.text.contains("NVRM"); }) ||
           facts.host.wsl;
}

bool no_gpu(const Facts& facts) {
    return facts.host.pci.ok() && facts.host.pci_gpus().empty() && facts.host.gpus.value.empty() &&
           facts.nvml.gpus.empty() && !facts.host.wsl && !facts.host.jetson;
}

Verdict judge_not_passed(const Facts& facts) {
    const auto& machine = facts.host.virtual_machine;
    if (machine.unknown()) return unknown(machine.reason);
    if (!machine.ok()) return ok("a physical machine");
    if (!no_gpu(facts)) return ok("a virtual machine with a GPU: " + machine.value);
    if (!machine.place.path.starts_with("/sys/class/dmi")) {
        return ok("maybe a virtual machine (hypervisor flag)");
    }
    auto verdict = failed("This is a virtual machine (" + machine.value +
                          ") and no NVIDIA GPU is passed through to it.");
    verdict.because(machine.place);
    verdict.because(facts.host.pci.place, "an NVIDIA device of class 0300 or 0302");
    verdict.note(
        "On the hypervisor: attach the GPU by PCI passthrough (or a vGPU profile) and "
        "restart the machine; in a cloud: choose an instance type with a GPU.");
    return verdict;
}

Verdict judge_present(const Facts& facts) {
    const auto gpus = facts.host.pci_gpus();
    if (!gpus.empty()) {
        std::vector<std::string> names;
        for (const PciDevice& gpu : gpus) {
            std::string name = name_of(gpu);
            if (gpu.link_width && gpu.link_width_most) {
                name += " x" + std::to_string(*gpu.link_width) + " of x" +
                        std::to_string(*gpu.link_width_most);
            }
            names.push_back(name);
        }
        return ok(std::to_string(gpus.size()) + " NVIDIA GPU on PCI: " + join(names));
    }
    if (!facts.host.gpus.value.empty() || facts.host.wsl || !facts.nvml.gpus.empty()) {
        return ok("the driver knows " +
                  std::to_string(std::max(facts.host.gpus.value.size(), facts.nvml.gpus.size())) +
                  " GPU (the PCI bus was not listed)");
    }
    if (facts.host.jetson) return ok("a Jetson: its GPU is part of the chip, not on PCI");
    if (!facts.host.pci.ok() && (other_signs(facts) || facts.target.kind != Target::Kind::kHost)) {
        return unknown(facts.host.pci.reason);
    }
    const bool anything = facts.tree.has_beneath("/proc") || facts.tree.has_beneath("/sys");
    if (!facts.host.pci.ok() && !anything) return unknown(facts.host.pci.reason);
    std::string message = "No NVIDIA GPU on the PCI bus.";
    if (facts.host.has_switches()) message = "Only an NVSwitch and no NVIDIA GPU on the PCI bus.";
    auto verdict = failed(message);
    const Location place = facts.host.pci.ok() ? facts.host.pci.place
                                               : Location{"/sys/bus/pci/devices", 0, "not there"};
    verdict.because(place, "vendor 0x10de with class 0x030000 or 0x030200");
    if (!facts.host.pci.ok()) verdict.as(Confidence::kGuess);
    for (const Object& node : facts.cluster.all("Node")) {
        const auto labels = labels_of(node);
        const auto type = labels.find("node.kubernetes.io/instance-type");
        if (type != labels.end() && facts.cluster.all("Node").size() == 1) {
            verdict.because(Evidence{.path = node.path, .value = "instance type " + type->second});
        }
    }
    verdict.note(
        "Bare metal: seat the card, its power cables, and see it in the BIOS. Cloud: "
        "choose an instance type with a GPU. Virtual machine: pass the GPU through.");
    verdict.fix("lspci -nn -d 10de:");
    return verdict;
}

Verdict judge_vfio(const Facts& facts) {
    if (!facts.host.pci.ok()) return unknown(facts.host.pci.reason);
    auto verdict = failed("");
    std::size_t bound = 0;
    const auto gpus = facts.host.pci_gpus();
    for (const PciDevice& gpu : gpus) {
        if (gpu.driver != "vfio-pci" && gpu.driver != "vfio_pci") continue;
        ++bound;
        if (verdict.message.empty()) {
            verdict.message =
                "GPU " + gpu.address + " is bound to vfio-pci; containers cannot use it.";
            verdict.fix("driverctl unset-override " + gpu.address, Risk::kNone);
        }
        verdict.because(Evidence{
            .path = gpu.place.path + "/driver", .value = gpu.driver, .expected = "nvidia"});
    }
    if (bound == 0) return ok("no GPU is given to virtual machines");
    for (const Object& node : facts.cluster.all("Node")) {
        const auto labels = labels_of(node);
        const auto found = labels.find("nvidia.com/gpu.workload.config");
        if (found == labels.end() || found->second == "container") continue;
        verdict.because(Evidence{.path = node.path,
                                 .value = "label nvidia.com/gpu.workload.config=" + found->second,
                                 .expected = "container"});
        verdict.fix("kubectl label node " + node.name +
                    " nvidia.com/gpu.workload.config=container --overwrite");
    }
    return verdict;
}

Verdict judge_mixed_drivers(const Facts& facts) {
    if (!facts.host.pci.ok()) return unknown(facts.host.pci.reason);
    for (const PciDevice& gpu : facts.host.pci_gpus()) {
        if (gpu.driver != "nouveau") continue;
        if (!facts.host.driver.ok()) return not_here("nouveau holds the GPU: DRV003 judges it");
        auto verdict = failed("GPU " + name_of(gpu) +
                              " is held by nouveau although the nvidia driver is loaded.");
        verdict.because(
            Evidence{.path = gpu.place.path + "/driver", .value = "nouveau", .expected = "nvidia"});
        verdict.fix("echo " + gpu.address + " > /sys/bus/pci/drivers/nouveau/unbind && echo " +
                    gpu.address + " > /sys/bus/pci/drivers/nvidia/bind");
        return verdict;
    }
    return ok("no GPU is held by nouveau");
}

Verdict judge_width(const Facts& facts) {
    bool told = false;
    auto verdict = warning("");
    for (const PciDevice& gpu : facts.host.pci_gpus()) {
        if (!gpu.link_width || !gpu.link_width_most) continue;
        // 63 and 255 mean: the link is down or asleep, nobody knows.
        if (*gpu.link_width == 0 || *gpu.link_width > 32 || *gpu.link_width_most > 32) continue;
        told = true;
        if (*gpu.link_width >= *gpu.link_width_most) continue;
        const std::string text =
            "x" + std::to_string(*gpu.link_width) + " of x" + std::to_string(*gpu.link_width_most);
        if (verdict.message.empty()) {
            verdict.message = "GPU " + name_of(gpu) + " runs at PCIe " + text + ".";
        }
        verdict.because(Evidence{.path = gpu.place.path + "/current_link_width",
                                 .value = "x" + std::to_string(*gpu.link_width),
                                 .expected = "x" + std::to_string(*gpu.link_width_most)});
    }
    if (!verdict.message.empty()) {
        verdict.note(
            "Reseat the card, try another slot or riser, look at bifurcation in the BIOS. "
            "(The speed may drop when idle, the width must not.)");
        return verdict;
    }
    return told ? ok("PCIe links have their full width") : unknown("no link width in sysfs");
}

Verdict judge_window(const Facts& facts) {
    for (const PciDevice& gpu : facts.host.pci_gpus()) {
        if (!gpu.memory_unassigned) continue;
        auto verdict =
            failed("The firmware gave no memory window (BAR1) to GPU " + name_of(gpu) + ".");
        verdict.because(Evidence{.path = gpu.place.path + "/resource",
                                 .line = 2,
                                 .value = "BAR1 starts at 0",
                                 .expected = "an address"});
        verdict.note(
            "BIOS: turn on Above 4G Decoding and resizable BAR; or boot with pci=realloc.");
        return verdict;
    }
    for (const LogLine& line : facts.host.kernel_log) {
        const bool space = line.text.contains("no space for") ||
                           line.text.contains("can't assign") || line.text.contains("BAR1 is 0M") ||
                           line.text.contains("BAR 1: no space");
        if (!space) continue;
        const auto gpus = facts.host.pci_gpus();
        const bool of_gpu =
            line.text.contains("NVRM") || std::ranges::any_of(gpus, [&](const PciDevice& gpu) {
                return line.text.contains(gpu.address);
            });
        if (!of_gpu) continue;
        auto verdict = failed("The kernel found no address space for the memory of a GPU.");
        verdict.because(line.place, "BAR 1 assigned");
        verdict.note(
            "BIOS: turn on Above 4G Decoding and resizable BAR; or boot with pci=realloc.");
        return verdict;
    }
    if (!facts.host.pci.ok()) return unknown(facts.host.pci.reason);
    return ok("every GPU has its memory window");
}

Verdict judge_peer_access(const Facts& facts) {
    const auto gpus = facts.host.pci_gpus();
    if (gpus.size() < 2) return not_here("one GPU: no traffic between GPUs");
    if (!facts.host.command_line.ok()) return unknown("/proc/cmdline was not read");
    const std::string& words = facts.host.command_line.value;
    const bool on = words.contains("intel_iommu=on") || words.contains("amd_iommu=on");
    const bool pass = words.contains("iommu=pt") || words.contains("iommu=off");
    if (!on || pass) return ok("the IOMMU does not stand between the GPUs");
    auto verdict = warning("The IOMMU translates traffic between the " +
                           std::to_string(gpus.size()) + " GPUs; peer-to-peer copies may be slow.");
    verdict.because(facts.host.command_line.place, "iommu=pt, or no IOMMU");
    verdict.note(
        "Boot with iommu=pt, and turn off ACS for the switches above the GPUs in the BIOS "
        "when no virtual machine needs it.");
    verdict.as(Confidence::kLikely);
    return verdict;
}

Verdict judge_known(const Facts& facts) {
    const auto gpus = facts.host.pci_gpus();
    for (const PciDevice& gpu : gpus) {
        if (gpu.device == 0 || !catalog::gpu_models_with_pci_id(id_text(gpu.device)).empty()) {
            continue;
        }
        auto verdict = warning("GPU id 10de:" + id_text(gpu.device) +
                               " is not in our table; facts about it come from NVML only.");
        verdict.because(
            Evidence{.path = gpu.place.path + "/device", .value = "0x" + id_text(gpu.device)});
        verdict.note("Nothing is broken by this. A newer aliquot may know the model.");
        return verdict;
    }
    return gpus.empty() ? unknown("no GPU was listed") : ok("every GPU is in our table");
}

Verdict judge_bus_errors(const Facts& facts) {
    const auto gpus = facts.host.pci_gpus();
    for (const PciDevice& gpu : gpus) {
        if (gpu.fatal_errors == 0) continue;
        auto verdict = warning("PCIe errors at GPU " + name_of(gpu) + ": " +
                               std::to_string(gpu.fatal_errors) + " uncorrectable since boot.");
        verdict.because(Evidence{.path = gpu.place.path + "/aer_dev_fatal",
                                 .value = std::to_string(gpu.fatal_errors),
                                 .expected = "0"});
        verdict.note("Reseat the card and its power cables; often the companion of Xid 79.");
        return verdict;
    }
    for (const LogLine& line : facts.host.kernel_log) {
        if (!line.text.contains("AER:") && !line.text.contains("PCIe Bus Error")) continue;
        for (const PciDevice& gpu : gpus) {
            if (!line.text.contains(gpu.address)) continue;
            auto verdict = warning("The kernel reports PCIe errors at GPU " + name_of(gpu) + ".");
            verdict.because(line.place, "no AER messages");
            verdict.note("Reseat the card and its power cables; often the companion of Xid 79.");
            return verdict;
        }
    }
    return gpus.empty() ? unknown("no GPU was listed") : ok("no PCIe errors at the GPUs");
}

Verdict judge_supported(const Facts& facts) {
    if (!facts.host.driver.ok() || facts.host.driver.value.empty()) {
        return not_here("no driver is loaded");
    }
    const auto branch = leading_number(facts.host.driver.value).value_or(0);
    for (const PciDevice& gpu : facts.host.pci_gpus()) {
        for (const catalog::GpuModel* const model :
             catalog::gpu_models_with_pci_id(id_text(gpu.device))) {
            const unsigned last = model->last_branch;
            if (last == 0 || branch <= last) continue;
            const bool refused =
                std::ranges::any_of(facts.host.kernel_log, [](const LogLine& line) {
                    return line.text.contains("None of the NVIDIA devices were initialized") ||
                           line.text.contains("installed in this system is not supported");
                });
            const bool dead =
                std::ranges::find(facts.host.gpus.value, gpu.address, &KernelGpu::address) ==
                    facts.host.gpus.value.end() &&
                (!facts.host.gpus.unknown() || refused);
            const std::string text = std::string(model->name) + " (" +
                                     std::string(model->architecture) +
                                     ") is not supported by driver " + facts.host.driver.value +
                                     "; " + "R" + std::to_string(last) + " is the last branch.";
            auto verdict = dead ? failed(text) : warning(text);
            verdict.because(facts.host.driver.place,
                            "a driver of branch R" + std::to_string(last) + " or older");
            verdict.because(Evidence{.path = gpu.place.path + "/device",
                                     .value = "10de:" + id_text(gpu.device)});
            verdict.note("Install the driver branch " + std::to_string(last) +
                         " and hold its packages.");
            return verdict;
        }
    }
    return ok("the driver supports every GPU that we know");
}

constexpr Check kHardwareChecks[] = {
    {"HW002", Level::kHardware, true, "", judge_not_passed},
    {"HW001", Level::kHardware, true, "HW002", judge_present},
    {"HW003", Level::kHardware, true, "HW001 HW002", judge_vfio},
    {"HW004", Level::kHardware, false, "HW001 HW002", judge_mixed_drivers},
    {"HW005", Level::kHardware, false, "HW001 HW002", judge_width},
    {"HW006", Level::kHardware, true, "HW001 HW002", judge_window},
    {"HW007", Level::kHardware, false, "HW001 HW002", judge_peer_access},
    {"HW008", Level::kHardware, false, "HW001 HW002", judge_known},
    {"HW009", Level::kHardware, false, "HW001 HW002", judge_bus_errors},
    {"HW010", Level::kHardware, false, "HW001 HW002", judge_supported},
};

}  // namespace

std::span<const Check> hardware_checks() { return kHardwareChecks; }

}  // namespace aliquot::doctor
