// SPDX-License-Identifier: Apache-2.0
#include "doctor/nvidia_smi.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "base/number.h"
#include "base/text.h"
#include "doctor/text.h"
#include "k8s/quantity.h"

namespace aliquot::doctor {
namespace {

/// "00000000:01:00.0" and "0000:01:00.0" are one address.
std::string plain_address(std::string_view text) {
    std::string address = lower(trim(text));
    if (address.size() == 16) address.erase(0, 4);
    return address;
}

class SmiReader {
public:
    SmiReader(NvmlFacts& nvml, const std::string& path, const std::string& text)
        : nvml_(nvml), path_(path), text_(text) {}

    void run() {
        const bool query = text_.contains("NVSMI LOG");
        for_each_line(text_, [&](std::string_view line, unsigned number) {
            line_ = line;
            number_ = number;
            header();
            if (listed() || failed()) return;
            if (query) {
                detail();
            } else {
                row();
            }
        });
        if (!gpus_.empty() && nvml_.state == NvmlFacts::State::kUnknown) {
            nvml_.state = NvmlFacts::State::kOk;
        }
        if (nvml_.place.path.empty()) nvml_.place = {path_, 0, ""};
        merge();
    }

private:
    [[nodiscard]] Location here() const { return place_in(path_, number_, line_); }

    void header() {
        const std::string_view driver = after(line_, "Driver Version:");
        if (!driver.empty() && nvml_.driver.empty()) nvml_.driver = driver_version_in(driver);
        const std::string_view smi = after(line_, "NVIDIA-SMI ");
        if (!smi.empty() && nvml_.library.empty()) {
            nvml_.library = driver_version_in(smi.substr(0, 16));
        }
        std::string_view cuda = trim(after(line_, "CUDA Version:"));
        cuda = cuda.substr(0, cuda.find_first_of(" |"));
        if (!cuda.empty() && nvml_.cuda.empty() && cuda.find_first_of("0123456789") == 0) {
            nvml_.cuda = std::string(cuda);
        }
        const std::string_view version = trim(after(line_, "NVML library version:"));
        if (!version.empty()) nvml_.library = driver_version_in(version);
    }

    NvmlGpu& gpu_at(unsigned index) {
        const auto found = std::ranges::find(gpus_, index, &NvmlGpu::index);
        if (found != gpus_.end()) return *found;
        gpus_.push_back({.index = index, .place = here()});
        return gpus_.back();
    }

    /// "GPU 0: NVIDIA A2 (UUID: GPU-...)"
    bool listed() {
        if (!line_.starts_with("GPU ") || !line_.contains("(UUID:")) return false;
        const auto index = leading_number(line_.substr(4));
        const auto colon = line_.find(':');
        if (!index || *index < 0 || *index > 4096) return false;
        NvmlGpu& gpu = gpu_at(static_cast<unsigned>(*index));
        const auto open = line_.find("(UUID:");
        gpu.name = std::string(trim(line_.substr(colon + 1, open - colon - 1)));
        const std::string_view uuid = trim(line_.substr(open + 6));
        gpu.uuid = std::string(uuid.substr(0, uuid.find(')')));
        return true;
    }

    /// "Failed to initialize NVML: ...", "Unable to determine the device handle for GPU0000:1B:00.0:
    /// GPU is lost. ...", "NVIDIA-SMI has failed because it couldn't communicate ..."
    bool failed() {
        const int code = nvml_code_of(line_);
        const bool of_gpu = line_.contains("Unable to determine the device handle") ||
                            line_.contains("GPU is lost") || line_.contains("is lost");
        if (of_gpu && code != 0) {
            NvmlGpu gpu{.index = static_cast<unsigned>(1000 + gpus_.size()),
                        .error = code,
                        .error_text = clip(line_, 160),
                        .place = here()};
            const std::string folded = lower(line_);
            for (const std::string_view word : words_of(folded)) {
                const auto digits = word.find_first_of("0123456789");
                if (digits == std::string_view::npos || !word.contains(':')) continue;
                std::string_view address = word.substr(digits);
                while (address.ends_with(':') || address.ends_with('.')) address.remove_suffix(1);
                if (address.contains('.')) gpu.address = plain_address(address);
            }
            gpus_.push_back(std::move(gpu));
            return true;
        }
        if (contains_folded(line_, "no devices were found")) {
            if (nvml_.state == NvmlFacts::State::kUnknown) nvml_.state = NvmlFacts::State::kOk;
            nvml_.place = here();
            return true;
        }
        if (contains_folded(line_, "infoROM is corrupted")) {
            for (NvmlGpu& gpu : gpus_) gpu.infrom_corrupt = "corrupted";
            NvmlGpu& gpu = gpus_.empty() ? gpu_at(0) : gpus_.back();
            gpu.error = 14;
            gpu.error_text = clip(line_, 160);
            gpu.place = here();
            return true;
        }
        if (code == 0 || line_.starts_with('|')) return false;
        if (nvml_.state == NvmlFacts::State::kFailed && nvml_.code != 999) return true;
        nvml_.state = NvmlFacts::State::kFailed;
        nvml_.code = code;
        nvml_.message = clip(line_, 160);
        nvml_.place = here();
        return true;
    }

    /// The three rows of a GPU in the table.
    void row() {
        if (!line_.starts_with('|')) return;
        const auto cells = split(line_.substr(1), '|');
        if (cells.size() < 3) return;
        const auto first = words_of(cells[0]);
        const auto second = words_of(cells[1]);
        if (!second.empty() && second[0].contains(':') && second[0].contains('.') &&
            first.size() > 1) {
            const auto index = parse_number<std::int64_t>(first[0]);
            if (!index || *index < 0 || *index > 4096) return;
            table_gpu_ = &gpu_at(static_cast<unsigned>(*index));
            table_gpu_->address = plain_address(second[0]);
            table_gpu_->persistence = first.back() == "On";
            std::vector<std::string> name;
            for (std::size_t i = 1; i + 1 < first.size(); ++i) name.emplace_back(first[i]);
            table_gpu_->name = join(name, " ");
            const auto ecc = words_of(cells[2]);
            if (!ecc.empty()) {
                if (const auto count = parse_number<std::int64_t>(ecc[0]); count && *count >= 0) {
                    table_gpu_->ecc_uncorrected = static_cast<std::uint64_t>(*count);
                }
            }
            row_ = 1;
            return;
        }
        if (table_gpu_ == nullptr) return;
        if (row_ == 1) {
            if (line_.contains("ERR!") || line_.contains("Unknown Error")) {
                table_gpu_->error = 15;
                table_gpu_->error_text = "nvidia-smi shows ERR! for its values";
                table_gpu_->place = here();
            }
            second_row(cells);
        } else if (row_ == 2) {
            const auto mig = words_of(cells[2]);
            if (!mig.empty() && (mig[0].starts_with("Enabled") || mig[0].starts_with("Disabled"))) {
                table_gpu_->mig_current = mig[0].starts_with("Enabled") ? "Enabled" : "Disabled";
                const bool pending = mig[0].ends_with('*');
                const bool on = mig[0].starts_with("Enabled") != pending;
                table_gpu_->mig_pending = on ? "Enabled" : "Disabled";
            }
            table_gpu_ = nullptr;
        }
        ++row_;
    }

    void second_row(const std::vector<std::string_view>& cells) {
        const auto memory = words_of(cells[1]);
        if (memory.size() >= 3) {
            const auto used = leading_number(memory[0]);
            const auto total = leading_number(memory[2]);
            if (used && *used >= 0) table_gpu_->memory_used_mib = static_cast<unsigned>(*used);
            if (total && *total > 0) table_gpu_->memory_total_mib = static_cast<unsigned>(*total);
        }
        const auto last = words_of(cells[2]);
        if (!last.empty() && last[0].ends_with('%')) {
            if (const auto use = leading_number(last[0])) {
                table_gpu_->utilization = static_cast<unsigned>(*use);
            }
        }
        if (last.size() > 1) {
            const std::string mode(last.back());
            table_gpu_->compute_mode = mode == "E." || mode == "E. Process" || last.size() > 2
                                           ? "Exclusive_Process"
                                           : mode;
        }
    }

    /// A line of -q: "    Persistence Mode    : Enabled"; sections are deeper by indentation.
    void detail() {
        if (line_.starts_with("GPU ") && line_.contains(':')) {
            const auto index = static_cast<unsigned>(gpus_.size());
            gpus_.push_back({.index = index, .place = here()});
            gpus_.back().address = plain_address(words_of(line_)[1]);
            return;
        }
        if (gpus_.empty() || trim(line_).empty()) return;
        const auto depth = line_.find_first_not_of(' ');
        const auto colon = line_.find(" :");
        if (colon == std::string_view::npos) {
            while (!sections_.empty() && sections_.back().first >= depth) sections_.pop_back();
            sections_.emplace_back(depth, std::string(trim(line_)));
            return;
        }
        while (!sections_.empty() && sections_.back().first >= depth) sections_.pop_back();
        const std::string key(trim(line_.substr(0, colon)));
        const std::string value(trim(line_.substr(colon + 2)));
        set(gpus_.back(), sections_.empty() ? "" : sections_.back().second, key, value);
    }

    void set(NvmlGpu& gpu, const std::string& section, const std::string& key,
             const std::string& value) {
        if (key == "Product Name") gpu.name = value;
        if (key == "GPU UUID") gpu.uuid = value;
        if (key == "Persistence Mode") gpu.persistence = value == "Enabled";
        if (key == "Compute Mode") gpu.compute_mode = value;
        if (section == "MIG Mode" && key == "Current") gpu.mig_current = value;
        if (section == "MIG Mode" && key == "Pending") gpu.mig_pending = value;
        if (section == "Remapped Rows" && key == "Pending") gpu.remap_pending = value == "Yes";
        if (section == "Remapped Rows" && key == "Remapping Failure Occurred") {
            gpu.remap_failed = value == "Yes";
        }
        if (key == "Pending Page Blacklist") gpu.pages_pending = value == "Yes";
        if (section == "Fabric" && key == "State") gpu.fabric_state = value;
        if (key == "License Status") gpu.license = value;
        if (key == "GPU Recovery Action") gpu.recovery_action = value;
        if (key == "Current Power Limit" || key == "Power Limit") {
            gpu.power_limit_w = k8s::quantity_value(value.substr(0, value.find(' ')));
        }
        if (key == "Default Power Limit") {
            gpu.power_default_w = k8s::quantity_value(value.substr(0, value.find(' ')));
        }
        if (key == "GPU Current Temp") {
            if (const auto number = leading_number(value)) {
                gpu.temperature = static_cast<unsigned>(*number);
            }
        }
        if (value != "Active") return;
        const std::uint64_t bit = key == "HW Slowdown"               ? 0x8U
                                  : key == "HW Thermal Slowdown"     ? 0x40U
                                  : key == "HW Power Brake Slowdown" ? 0x80U
                                  : key == "SW Thermal Slowdown"     ? 0x20U
                                  : key == "SW Power Cap"            ? 0x4U
                                                                     : 0U;
        gpu.throttle_bits = gpu.throttle_bits.value_or(0) | bit;
    }

    /// What NVML itself said of a GPU stays; the table only fills the gaps.
    void merge() {
        for (NvmlGpu& gpu : gpus_) {
            const auto known = std::ranges::find_if(nvml_.gpus, [&](const NvmlGpu& one) {
                return (!gpu.uuid.empty() && one.uuid == gpu.uuid) ||
                       (!gpu.address.empty() && plain_address(one.address) == gpu.address) ||
                       (gpu.error == 0 && one.index == gpu.index);
            });
            if (known == nvml_.gpus.end()) {
                nvml_.gpus.push_back(std::move(gpu));
                continue;
            }
            if (gpu.error != 0 && known->error == 0) {
                known->error = gpu.error;
                known->error_text = gpu.error_text;
                known->place = gpu.place;
            }
            if (known->name.empty()) known->name = gpu.name;
            if (known->uuid.empty()) known->uuid = gpu.uuid;
            if (known->address.empty()) known->address = gpu.address;
            if (!known->persistence) known->persistence = gpu.persistence;
            if (known->compute_mode.empty()) known->compute_mode = gpu.compute_mode;
            if (known->mig_current.empty()) known->mig_current = gpu.mig_current;
            if (known->mig_pending.empty()) known->mig_pending = gpu.mig_pending;
            if (!known->ecc_uncorrected) known->ecc_uncorrected = gpu.ecc_uncorrected;
            if (!known->memory_used_mib) known->memory_used_mib = gpu.memory_used_mib;
            if (!known->memory_total_mib) known->memory_total_mib = gpu.memory_total_mib;
            if (!known->utilization) known->utilization = gpu.utilization;
        }
    }

    NvmlFacts& nvml_;
    const std::string& path_;
    const std::string& text_;
    std::string_view line_;
    unsigned number_ = 0;
    std::deque<NvmlGpu> gpus_;  // stays in place when it grows
    NvmlGpu* table_gpu_ = nullptr;
    int row_ = 0;
    std::vector<std::pair<std::size_t, std::string>> sections_;
};

}  // namespace

void read_nvidia_smi(NvmlFacts& nvml, const std::string& path, const std::string& text) {
    SmiReader(nvml, path, text).run();
}

}  // namespace aliquot::doctor
