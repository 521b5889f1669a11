// SPDX-License-Identifier: Apache-2.0
//
// -q: all about a GPU in sections, as deep as users ask for it.
#include <algorithm>

#include "sim/smi/fields.h"

namespace aliquot::sim::smi {
namespace {

constexpr int kColumn = 51;  // of the colon, inside a GPU's block

/// Lines with their colons in one column, four spaces in for each level.
class Lines {
public:
    void group(int level, const char* name) { text_ += print("%*s%s\n", level * 4, "", name); }
    void line(int level, const char* name, const std::string& value) {
        text_ +=
            print("%*s%-*s: %s\n", level * 4, "", kColumn - (level - 1) * 4, name, value.c_str());
    }
    [[nodiscard]] const std::string& text() const { return text_; }

private:
    std::string text_;
};

std::string same(const std::string& value) { return value; }
std::string megabytes(std::uint64_t bytes) { return mib(bytes) + " MiB"; }

std::string number_with_unit(const Reading<unsigned>& reading, const char* unit) {
    return text_or(reading, detail_problem,
                   [unit](unsigned value) { return std::to_string(value) + unit; });
}
std::string text(const Reading<std::string>& reading) {
    return text_or(reading, detail_problem, same);
}
std::string state(const Reading<unsigned>& reading) {
    return text_or(reading, detail_problem, enabled_disabled);
}
std::string watt(const Reading<unsigned>& reading) {
    return text_or(reading, detail_problem, [](unsigned value) { return watts(value) + " W"; });
}

void identity(const Gpu& gpu, Lines& lines) {
    lines.line(1, "Product Name", text(gpu.name()));
    lines.line(1, "Product Architecture",
               text_or(gpu.architecture(), detail_problem, architecture_name));
    lines.line(1, "Display Mode", state(gpu.display_mode()));
    lines.line(1, "Display Active", state(gpu.display_active()));
    lines.line(1, "Persistence Mode", state(gpu.persistence()));
    lines.group(1, "MIG Mode");
    const auto mig = gpu.mig_mode();
    lines.line(2, "Current", text_or(mig, detail_problem, [](const Modes& m) {
                   return enabled_disabled(m.current);
               }));
    lines.line(2, "Pending", text_or(mig, detail_problem, [](const Modes& m) {
                   return enabled_disabled(m.pending);
               }));
    lines.line(1, "Accounting Mode", state(gpu.accounting()));
    lines.line(1, "Serial Number", text(gpu.serial()));
    lines.line(1, "GPU UUID", text(gpu.uuid()));
    lines.line(1, "Minor Number", number_with_unit(gpu.minor(), ""));
    lines.line(1, "VBIOS Version", text(gpu.vbios()));
    lines.line(1, "GPU Part Number", text(gpu.part_number()));
    lines.group(1, "PCI");
    const auto pci = gpu.pci();
    const auto hexadecimal = [&pci](int digits, std::uint32_t value) {
        return pci.ok() ? print("0x%0*X", digits, value) : detail_problem(pci.code);
    };
    lines.line(2, "Bus", hexadecimal(2, pci.value.bus));
    lines.line(2, "Device", hexadecimal(2, pci.value.device));
    lines.line(2, "Domain", hexadecimal(4, pci.value.domain));
    lines.line(2, "Device Id", hexadecimal(8, pci.value.pciDeviceId));
    lines.line(2, "Bus Id", text(gpu.bus_id()));
    lines.line(2, "Sub System Id", hexadecimal(8, pci.value.pciSubSystemId));
    lines.group(2, "GPU Link Info");
    lines.group(3, "PCIe Generation");
    lines.line(4, "Max", number_with_unit(gpu.max_pcie_generation(), ""));
    lines.line(4, "Current", number_with_unit(gpu.pcie_generation(), ""));
    lines.group(3, "Link Width");
    lines.line(4, "Max", number_with_unit(gpu.max_pcie_width(), "x"));
    lines.line(4, "Current", number_with_unit(gpu.pcie_width(), "x"));
    lines.line(1, "Fan Speed", number_with_unit(gpu.fan(), " %"));
    lines.line(1, "Performance State",
               text_or(gpu.performance_state(), detail_problem,
                       [](unsigned p) { return "P" + std::to_string(p); }));
}

void memory(const Gpu& gpu, Lines& lines) {
    const auto frame = gpu.memory();
    const auto part = [&frame](std::uint64_t bytes) {
        return frame.ok() ? megabytes(bytes) : detail_problem(frame.code);
    };
    lines.group(1, "FB Memory Usage");
    lines.line(2, "Total", part(frame.value.total));
    lines.line(2, "Reserved", part(frame.value.reserved));
    lines.line(2, "Used", part(frame.value.used));
    lines.line(2, "Free", part(frame.value.free));
    const auto bar = gpu.bar1();
    const auto bar_part = [&bar](std::uint64_t bytes) {
        return bar.ok() ? megabytes(bytes) : detail_problem(bar.code);
    };
    lines.group(1, "BAR1 Memory Usage");
    lines.line(2, "Total", bar_part(bar.value.bar1Total));
    lines.line(2, "Used", bar_part(bar.value.bar1Used));
    lines.line(2, "Free", bar_part(bar.value.bar1Free));
}

void utilization(const Gpu& gpu, Lines& lines) {
    const auto busy = gpu.utilization();
    lines.group(1, "Utilization");
    lines.line(2, "GPU", text_or(busy, detail_problem, [](const auto& u) {
                   return std::to_string(u.gpu) + " %";
               }));
    lines.line(2, "Memory", text_or(busy, detail_problem, [](const auto& u) {
                   return std::to_string(u.memory) + " %";
               }));
    lines.line(2, "Encoder", number_with_unit(gpu.encoder(), " %"));
    lines.line(2, "Decoder", number_with_unit(gpu.decoder(), " %"));
    lines.line(2, "JPEG", number_with_unit(gpu.jpeg(), " %"));
    lines.line(2, "OFA", number_with_unit(gpu.flow(), " %"));
}

void ecc(const Gpu& gpu, Lines& lines) {
    const auto mode = gpu.ecc_mode();
    lines.group(1, "ECC Mode");
    lines.line(2, "Current", text_or(mode, detail_problem, [](const Modes& m) {
                   return enabled_disabled(m.current);
               }));
    lines.line(2, "Pending", text_or(mode, detail_problem, [](const Modes& m) {
                   return enabled_disabled(m.pending);
               }));
    lines.group(1, "ECC Errors");
    for (const nvmlEccCounterType_t counter : {NVML_VOLATILE_ECC, NVML_AGGREGATE_ECC}) {
        const auto count = [&](nvmlMemoryErrorType_t type) {
            return text_or(gpu.ecc_errors(type, counter), detail_problem,
                           [](std::uint64_t value) { return std::to_string(value); });
        };
        lines.group(2, counter == NVML_VOLATILE_ECC ? "Volatile" : "Aggregate");
        lines.line(3, "Total Correctable", count(NVML_MEMORY_ERROR_TYPE_CORRECTED));
        lines.line(3, "Total Uncorrectable", count(NVML_MEMORY_ERROR_TYPE_UNCORRECTED));
    }
}

void temperature(const Gpu& gpu, Lines& lines) {
    lines.group(1, "Temperature");
    lines.line(2, "GPU Current Temp", number_with_unit(gpu.temperature(), " C"));
    lines.line(2, "GPU Shutdown Temp",
               number_with_unit(gpu.threshold(NVML_TEMPERATURE_THRESHOLD_SHUTDOWN), " C"));
    lines.line(2, "GPU Slowdown Temp",
               number_with_unit(gpu.threshold(NVML_TEMPERATURE_THRESHOLD_SLOWDOWN), " C"));
    lines.line(2, "GPU Max Operating Temp",
               number_with_unit(gpu.threshold(NVML_TEMPERATURE_THRESHOLD_GPU_MAX), " C"));
}

void power(const Gpu& gpu, Lines& lines) {
    const auto limits = gpu.power_limits();
    lines.group(1, "GPU Power Readings");
    lines.line(2, "Average Power Draw", watt(gpu.power()));
    lines.line(2, "Current Power Limit", watt(gpu.power_limit()));
    lines.line(2, "Default Power Limit", watt(gpu.power_default_limit()));
    lines.line(2, "Min Power Limit", watt({limits.code, limits.value.current}));
    lines.line(2, "Max Power Limit", watt({limits.code, limits.value.pending}));
}

void clocks(const Gpu& gpu, Lines& lines) {
    const auto three = [&lines](const auto& ask) {
        lines.line(2, "Graphics", number_with_unit(ask(NVML_CLOCK_GRAPHICS), " MHz"));
        lines.line(2, "SM", number_with_unit(ask(NVML_CLOCK_SM), " MHz"));
        lines.line(2, "Memory", number_with_unit(ask(NVML_CLOCK_MEM), " MHz"));
        lines.line(2, "Video", number_with_unit(ask(NVML_CLOCK_VIDEO), " MHz"));
    };
    lines.group(1, "Clocks");
    three([&gpu](nvmlClockType_t type) { return gpu.clock(type); });
    lines.group(1, "Max Clocks");
    three([&gpu](nvmlClockType_t type) { return gpu.max_clock(type); });
}

void compute(const Gpu& gpu, Lines& lines) {
    lines.line(1, "Compute Mode", text_or(gpu.compute_mode(), detail_problem, compute_mode_name));
}

void processes(const Gpu& gpu, Lines& lines) {
    const auto list = gpu.processes();
    if (!list.ok() || list.value.empty()) {
        lines.line(1, "Processes", list.ok() ? "None" : detail_problem(list.code));
        return;
    }
    lines.group(1, "Processes");
    for (const Process& process : list.value) {
        lines.line(2, "Process ID", std::to_string(process.pid));
        lines.line(3, "Type", process.type);
        lines.line(3, "Name", process_name(gpu.library(), process.pid));
        lines.line(3, "Used GPU Memory",
                   process.memory_bytes == NVML_VALUE_NOT_AVAILABLE
                       ? "N/A"
                       : megabytes(process.memory_bytes));
    }
}

/// The value of a field of --query-gpu, as the sections write it.
std::string field_text(const Gpu& gpu, const char* name) {
    std::string value = find_gpu_field(name)->ask({.library = gpu.library()}, gpu);
    if (value.starts_with('[')) return value.substr(1, value.size() - 2);
    return value;
}

void performance(const Gpu& gpu, Lines& lines) {
    lines.line(1, "Performance State", field_text(gpu, "pstate"));
    lines.group(1, "Clocks Event Reasons");
    for (const auto& [name, field] :
         {std::pair{"Idle", "gpu_idle"},
          {"Applications Clocks Setting", "applications_clocks_setting"},
          {"SW Power Cap", "sw_power_cap"},
          {"HW Slowdown", "hw_slowdown"},
          {"HW Thermal Slowdown", "hw_thermal_slowdown"},
          {"HW Power Brake Slowdown", "hw_power_brake_slowdown"},
          {"Sync Boost", "sync_boost"},
          {"SW Thermal Slowdown", "sw_thermal_slowdown"}}) {
        lines.line(2, name,
                   field_text(gpu, (std::string("clocks_event_reasons.") + field).c_str()));
    }
}

void retired_pages(const Gpu& gpu, Lines& lines) {
    lines.group(1, "Retired Pages");
    lines.line(2, "Single Bit ECC", field_text(gpu, "retired_pages.single_bit_ecc.count"));
    lines.line(2, "Double Bit ECC", field_text(gpu, "retired_pages.double_bit.count"));
    lines.line(2, "Pending Page Blacklist", field_text(gpu, "retired_pages.pending"));
}

void remapped_rows(const Gpu& gpu, Lines& lines) {
    lines.group(1, "Remapped Rows");
    lines.line(2, "Correctable Error", field_text(gpu, "remapped_rows.correctable"));
    lines.line(2, "Uncorrectable Error", field_text(gpu, "remapped_rows.uncorrectable"));
    lines.line(2, "Pending", field_text(gpu, "remapped_rows.pending"));
    lines.line(2, "Remapping Failure Occurred", field_text(gpu, "remapped_rows.failure"));
}

void encoder_stats(const Gpu& gpu, Lines& lines) {
    lines.group(1, "Encoder Stats");
    lines.line(2, "Active Sessions", field_text(gpu, "encoder.stats.sessionCount"));
    lines.line(2, "Average FPS", field_text(gpu, "encoder.stats.averageFps"));
    lines.line(2, "Average Latency", field_text(gpu, "encoder.stats.averageLatency"));
}

void accounting(const Gpu& gpu, Lines& lines) {
    lines.line(1, "Accounting Mode", field_text(gpu, "accounting.mode"));
    lines.line(1, "Accounting Mode Buffer Size", field_text(gpu, "accounting.buffer_size"));
    lines.line(1, "Accounted Processes", "None");
}

void supported_clocks(const Gpu& /*gpu*/, Lines& lines) {
    lines.line(1, "Supported Clocks", "N/A");
}

enum class Shown : std::uint8_t { kAlways, kWhenAsked };

struct Section {
    const char* name;  // of -d; nullptr: only without -d
    void (*print)(const Gpu&, Lines&);
    Shown shown = Shown::kAlways;
};

constexpr Section kSections[] = {
    {nullptr, identity},
    {"MEMORY", memory},
    {"COMPUTE", compute},
    {"UTILIZATION", utilization},
    {"ECC", ecc},
    {"TEMPERATURE", temperature},
    {"POWER", power},
    {"CLOCK", clocks},
    {"PIDS", processes},
    {"PERFORMANCE", performance, Shown::kWhenAsked},
    {"PAGE_RETIREMENT", retired_pages, Shown::kWhenAsked},
    {"ROW_REMAPPER", remapped_rows, Shown::kWhenAsked},
    {"ENCODER_STATS", encoder_stats, Shown::kWhenAsked},
    {"ACCOUNTING", accounting, Shown::kWhenAsked},
    {"SUPPORTED_CLOCKS", supported_clocks, Shown::kWhenAsked},
};

}  // namespace

bool is_section(const std::string& word) {
    return std::ranges::any_of(kSections, [&](const Section& section) {
        return section.name != nullptr && section.name == word;
    });
}

std::string show_details(const View& view, const Request& request) {
    std::string text = "\n==============NVSMI LOG==============\n\n";
    const auto head = [&text](const char* name, const std::string& value) {
        text += print("%-55s: %s\n", name, value.c_str());
    };
    head("Timestamp", date_text());
    head("Driver Version", view.driver_version);
    head("CUDA Version", cuda_text(view.cuda_version));
    text += "\n";
    head("Attached GPUs", std::to_string(view.attached));
    for (const Gpu& gpu : view.gpus) {
        if (gpu.problem() != NVML_SUCCESS) continue;
        text += "GPU " + text_or(gpu.bus_id(), detail_problem, same) + "\n";
        Lines lines;
        for (const Section& section : kSections) {
            const bool chosen =
                section.name != nullptr &&
                std::ranges::find(request.sections, section.name) != request.sections.end();
            const bool always = request.sections.empty() && section.shown == Shown::kAlways;
            if (always || chosen) section.print(gpu, lines);
        }
        text += lines.text() + "\n";
    }
    return text;
}

}  // namespace aliquot::sim::smi
