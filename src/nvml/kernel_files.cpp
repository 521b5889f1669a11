// SPDX-License-Identifier: Apache-2.0
#include "nvml/kernel_files.h"

#include <algorithm>
#include <array>

#include "base/number.h"
#include "base/text.h"

namespace aliquot::nvml {
namespace {

constexpr std::string_view kGpuDirectory = "/proc/driver/nvidia/gpus";
constexpr std::size_t kGpuLimit = 256;
constexpr std::string_view kMigMinors = "/proc/driver/nvidia-caps/mig-minors";
constexpr std::size_t kMigMinorsBytes = 4U << 20U;  // about 150 bytes for each possible instance
constexpr unsigned kNoComputeInstance = ~0U;

/// The text after "name:" of one of the lines; empty when there is no such line.
std::string_view line_value(std::string_view text, std::string_view name) {
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const auto colon = line.find(':');
        if (colon != std::string_view::npos && trim(line.substr(0, colon)) == name) {
            return trim(line.substr(colon + 1));
        }
    }
    return {};
}

/// Takes "<word><number>/" off the front of `text`.
std::optional<unsigned> take_step(std::string_view& text, std::string_view word) {
    const auto end = text.find('/');
    if (!text.starts_with(word) || end == std::string_view::npos) return std::nullopt;
    const auto value = parse_number<unsigned>(text.substr(word.size(), end - word.size()), 10);
    if (value) text.remove_prefix(end + 1);
    return value;
}

bool is_version(std::string_view word) {
    return !word.empty() && word.contains('.') &&
           word.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

std::optional<gpu::PciAddress> parse_pci_address(std::string_view text) {
    std::array<unsigned, 3> parts{};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto end = text.find(i < 2 ? ':' : '.');
        if (end == std::string_view::npos) return std::nullopt;
        const auto part = parse_number<unsigned>(text.substr(0, end), 16);
        if (!part) return std::nullopt;
        parts.at(i) = *part;
        text.remove_prefix(end + 1);
    }
    return gpu::PciAddress{.domain = parts[0], .bus = parts[1], .device = parts[2]};
}

MigMinors MigMinors::parse(std::string_view text) {
    MigMinors minors;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        std::string_view line = trim(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        const auto gpu = take_step(line, "gpu");
        const auto instance = gpu ? take_step(line, "gi") : std::nullopt;
        if (!instance) continue;
        const auto compute = take_step(line, "ci");
        if (!line.starts_with("access ")) continue;
        const auto minor = parse_number<unsigned>(trim(line.substr(7)), 10);
        if (minor) minors.minors_[{*gpu, *instance, compute.value_or(kNoComputeInstance)}] = *minor;
    }
    return minors;
}

std::optional<unsigned> MigMinors::find(std::array<unsigned, 3> key) const {
    const auto found = minors_.find(key);
    if (found == minors_.end()) return std::nullopt;
    return found->second;
}

std::optional<unsigned> MigMinors::of(unsigned gpu, unsigned gpu_instance) const {
    return find({gpu, gpu_instance, kNoComputeInstance});
}

std::optional<unsigned> MigMinors::of(unsigned gpu, unsigned gpu_instance,
                                      unsigned compute_instance) const {
    return find({gpu, gpu_instance, compute_instance});
}

MigMinors KernelFiles::mig_minors() const {
    const auto text = read(std::string(kMigMinors), kMigMinorsBytes);
    return text ? MigMinors::parse(*text) : MigMinors{};
}

KernelFiles::KernelFiles(const os::Root& root, const std::string& driver_root) : roots_{root} {
    const std::filesystem::path installation(driver_root);
    if (!installation.empty() && installation != "/" &&
        !installation.filename().native().contains(".so")) {
        roots_.emplace_back(root.resolve(driver_root));
    }
    if (root.base() != "/") roots_.emplace_back("/");
}

std::optional<std::string> KernelFiles::read(const std::string& path,
                                             std::size_t limit_bytes) const {
    for (const os::Root& root : roots_) {
        auto text = root.read(path, limit_bytes);
        if (text) return *std::move(text);
    }
    return std::nullopt;
}

std::optional<unsigned> KernelFiles::numa_node(const gpu::PciAddress& address) const {
    const auto text = read("/sys/bus/pci/devices/" + gpu::to_text(address) + "/numa_node");
    if (!text) return std::nullopt;
    return parse_number<unsigned>(trim(*text), 10);  // "-1" is no number of ours
}

std::vector<KernelGpu> KernelFiles::gpus() const {
    std::vector<KernelGpu> gpus;
    for (const os::Root& root : roots_) {
        const auto names = root.list(kGpuDirectory, kGpuLimit);
        if (!names || names->empty()) continue;
        for (const std::string& name : *names) {
            const auto address = parse_pci_address(name);
            if (!address) continue;
            KernelGpu gpu{.pci = *address};
            const auto text =
                root.read(std::string(kGpuDirectory) + "/" + name + "/information", 1 << 16);
            if (text) {
                gpu.model = line_value(*text, "Model");
                gpu.minor = parse_number<unsigned>(line_value(*text, "Device Minor"), 10);
                gpu.uuid.text = line_value(*text, "GPU UUID");
                // The kernel writes question marks for a UUID it has not read yet.
                if (gpu.uuid.text.contains('?')) gpu.uuid.text.clear();
            }
            gpus.push_back(std::move(gpu));
        }
        break;
    }
    std::ranges::sort(gpus, {}, [](const KernelGpu& gpu) {
        return std::array{gpu.pci.domain, gpu.pci.bus, gpu.pci.device};
    });
    return gpus;
}

std::string KernelFiles::module_version() const {
    const auto text = read("/proc/driver/nvidia/version");
    if (!text) return {};
    std::string_view words = line_value(*text, "NVRM version");
    while (!words.empty()) {
        const auto end = std::min(words.find_first_of(" \t"), words.size());
        if (is_version(words.substr(0, end))) return std::string(words.substr(0, end));
        words.remove_prefix(std::min(end + 1, words.size()));
    }
    return {};
}

}  // namespace aliquot::nvml
