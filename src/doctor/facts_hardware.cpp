// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <iterator>

#include "base/number.h"
#include "base/text.h"
#include "doctor/facts.h"

namespace aliquot::doctor {
namespace {

constexpr unsigned kNvidia = 0x10de;
constexpr std::string_view kPci = "/sys/bus/pci/devices";

std::optional<unsigned> number_in(const Tree& tree, const std::string& path) {
    const std::string* const text = tree.text(path);
    const auto value = text == nullptr ? std::nullopt : leading_number(*text);
    if (!value || *value < 0) return std::nullopt;
    return static_cast<unsigned>(*value);
}

unsigned hex_in(const Tree& tree, const std::string& path) {
    const std::string* const text = tree.text(path);
    return text == nullptr ? 0U : static_cast<unsigned>(parse_hex(*text).value_or(0));
}

/// The driver of a PCI device: a link, a text with its name, or the DRIVER line of uevent.
std::string driver_of(const Tree& tree, const std::string& device) {
    if (const Entry* const entry = tree.find(device + "/driver")) {
        std::string_view target = trim(entry->content);
        if (const auto slash = target.rfind('/'); slash != std::string_view::npos) {
            target.remove_prefix(slash + 1);
        }
        if (!target.empty() && entry->kind != Entry::Kind::kUnreadable) return std::string(target);
    }
    const std::string* const uevent = tree.text(device + "/uevent");
    if (uevent == nullptr) return {};
    const std::string_view rest = after(*uevent, "DRIVER=");
    return std::string(trim(rest.substr(0, rest.find('\n'))));
}

/// BAR1 is the second line of `resource`: "0x000000e000000000 0x000000efffffffff 0x...".
bool memory_unassigned(const Tree& tree, const std::string& device) {
    const std::string* const text = tree.text(device + "/resource");
    if (text == nullptr) return false;
    bool unassigned = false;
    for_each_line(*text, [&](std::string_view line, unsigned number) {
        const auto words = words_of(line);
        if (number != 2 || words.size() < 3) return;
        const bool has_flags = parse_hex(words[2]).value_or(0) != 0;
        unassigned = has_flags && parse_hex(words[0]).value_or(1) == 0;
    });
    return unassigned;
}

std::uint64_t fatal_errors_of(const Tree& tree, const std::string& device) {
    std::uint64_t total = 0;
    for (const char* const name : {"/aer_dev_fatal", "/aer_dev_nonfatal"}) {
        const std::string* const text = tree.text(device + name);
        if (text == nullptr) continue;
        for_each_line(*text, [&](std::string_view line, unsigned) {
            const auto words = words_of(line);
            if (words.size() == 2 && words[0].starts_with("TOTAL_ERR_")) {
                total +=
                    static_cast<std::uint64_t>(parse_number<std::int64_t>(words[1]).value_or(0));
            }
        });
    }
    return total;
}

PciDevice device_at(const Tree& tree, const std::string& name) {
    const std::string path = std::string(kPci) + "/" + name;
    PciDevice device{.address = name};
    device.vendor = hex_in(tree, path + "/vendor");
    device.device_class = hex_in(tree, path + "/class");
    device.device = hex_in(tree, path + "/device");
    device.driver = driver_of(tree, path);
    device.link_width = number_in(tree, path + "/current_link_width");
    device.link_width_most = number_in(tree, path + "/max_link_width");
    device.memory_unassigned = memory_unassigned(tree, path);
    device.fatal_errors = fatal_errors_of(tree, path);
    char text[32];
    std::snprintf(text, sizeof text, "0x%06x", device.device_class);
    device.place = {path, 0, "vendor 0x10de, class " + std::string(text)};
    return device;
}

/// "01:00.0 3D controller [0302]: NVIDIA Corporation GA107GL [A2 / A16] [10de:25b6] (rev a1)" and
/// indented lines below, one of them "Kernel driver in use: nouveau".
std::vector<PciDevice> devices_of_lspci(const std::string& path, const std::string& text) {
    std::vector<PciDevice> devices;
    bool ours = false;
    for_each_line(text, [&](std::string_view line, unsigned number) {
        if (line.empty()) return;
        if (line.front() == ' ' || line.front() == '\t') {
            if (!ours) return;
            const std::string_view driver = after(line, "Kernel driver in use:");
            if (!driver.empty()) devices.back().driver = std::string(trim(driver));
            return;
        }
        ours = contains_folded(line, "nvidia") || line.contains("[10de:");
        const auto words = words_of(line);
        const bool graphics = line.contains("VGA compatible") || line.contains("3D controller") ||
                              line.contains("Display controller") || line.contains("[0300]") ||
                              line.contains("[0302]");
        const bool bridge = line.contains("Bridge") && !graphics;
        ours = ours && (graphics || bridge) && !words.empty() && words[0].contains(':');
        if (!ours) return;
        PciDevice device{.vendor = kNvidia};
        device.address = std::string(words[0]);
        if (device.address.size() < 12) device.address.insert(0, "0000:");
        device.device_class = bridge ? 0x068000 : line.contains("VGA") ? 0x030000 : 0x030200;
        const std::string_view id = after(line, "[10de:");
        device.device = static_cast<unsigned>(parse_hex(id.substr(0, 4)).value_or(0));
        device.name = std::string(trim(after(line, "NVIDIA Corporation")));
        device.place = place_in(path, number, line);
        devices.push_back(std::move(device));
    });
    return devices;
}

/// The bus as sysfs tells it, else as lspci did.
void read_bus(Facts& facts) {
    const Tree& tree = facts.tree;
    auto& pci = facts.host.pci;
    const Entry* const directory = tree.find(kPci);
    const auto names = tree.names(kPci);
    if (!names.empty() || (directory != nullptr && directory->kind == Entry::Kind::kDirectory)) {
        pci.state = State::kOk;
        pci.place = {std::string(kPci), 0, std::to_string(names.size()) + " PCI devices"};
        for (const std::string& name : names) {
            PciDevice device = device_at(tree, name);
            if (device.vendor == kNvidia) pci.value.push_back(std::move(device));
        }
    } else if (directory != nullptr && directory->kind == Entry::Kind::kUnreadable) {
        pci.reason = std::string(kPci) + ": " + directory->content;
    }
    for (const std::string& path : tree.paths("cmd/lspci*")) {
        const std::string* const text = tree.text(path);
        if (text == nullptr) continue;
        auto listed = devices_of_lspci(path, *text);
        if (!pci.ok() || (pci.value.empty() && names.empty())) {
            pci.value = std::move(listed);
            pci.state = State::kOk;
            pci.place = {path, 0, std::to_string(pci.value.size()) + " NVIDIA devices listed"};
            continue;
        }
        for (PciDevice& device : pci.value) {
            const auto same = std::ranges::find(listed, device.address, &PciDevice::address);
            if (same == listed.end()) continue;
            if (device.name.empty()) device.name = same->name;
            if (device.driver.empty()) device.driver = same->driver;
        }
    }
    if (pci.unknown()) pci.reason = "neither " + std::string(kPci) + " nor cmd/lspci.txt is there";
}

void read_machine(Facts& facts) {
    const Tree& tree = facts.tree;
    const auto word = [&](const char* path) {
        const std::string* const text = tree.text(path);
        return text == nullptr ? std::string() : std::string(trim(*text));
    };
    const std::string vendor = word("/sys/class/dmi/id/sys_vendor");
    const std::string product = word("/sys/class/dmi/id/product_name");
    const std::string* const cpu = tree.text("/proc/cpuinfo");
    const bool flagged = cpu != nullptr && cpu->contains(" hypervisor");
    const std::string known[] = {
        "QEMU",  "VMware", "Xen",       "innotek", "Amazon EC2", "Google",         "KVM",
        "oVirt", "RHEV",   "OpenStack", "Bochs",   "Nutanix",    "Virtual Machine"};
    const bool named = std::ranges::any_of(known, [&](const std::string& one) {
        return vendor.contains(one) || product.contains(one);
    });
    facts.host.wsl = tree.has("/dev/dxg") || tree.has_beneath("/usr/lib/wsl/lib");
    const std::string* const release = tree.text("/proc/sys/kernel/osrelease");
    facts.host.jetson =
        tree.has("/etc/nv_tegra_release") || (release != nullptr && release->contains("-tegra"));
    auto& machine = facts.host.virtual_machine;
    if (vendor.empty() && product.empty() && cpu == nullptr) {
        machine.reason = "/sys/class/dmi/id and /proc/cpuinfo are not there";
        return;
    }
    const bool metal = product.contains(".metal") || product.contains("-metal");
    machine.state = (flagged || named) && !metal ? State::kOk : State::kAbsent;
    machine.value = concat({vendor.empty() ? "a virtual machine" : vendor, " ", product});
    machine.place = {vendor.empty() ? "/proc/cpuinfo" : "/sys/class/dmi/id/sys_vendor", 0,
                     flagged ? "hypervisor flag, " + machine.value : machine.value};
}

}  // namespace

std::vector<PciDevice> HostFacts::pci_gpus() const {
    std::vector<PciDevice> found;
    std::ranges::copy_if(pci.value, std::back_inserter(found), &PciDevice::gpu);
    return found;
}

bool HostFacts::has_switches() const {
    return std::ranges::any_of(pci.value, &PciDevice::nvswitch);
}

const Program* HostFacts::program(std::string_view name) const {
    const auto found = std::ranges::find_if(
        programs, [&](const Program& one) { return std::string_view(one.name).starts_with(name); });
    return found == programs.end() ? nullptr : &*found;
}

void read_hardware(Facts& facts) {
    read_bus(facts);
    read_machine(facts);
}

}  // namespace aliquot::doctor
