// SPDX-License-Identifier: Apache-2.0
//
// The table of a call without options, and the list of -L.
#include <algorithm>

#include "sim/smi/show.h"
#include "sim/smi/text.h"

namespace aliquot::sim::smi {
namespace {

constexpr std::size_t kNameWidth = 31;
constexpr std::size_t kProcessNameWidth = 36;

// Widths between the bars: 41, 24 and 22 characters; 89 for what spans them.
constexpr const char* kWide =
    "+-----------------------------------------------------------------------------------------+\n";
constexpr const char* kTableHead =
    "+-----------------------------------------+------------------------+----------------------+\n";
constexpr const char* kWideDouble =
    "|=========================================================================================|\n";
constexpr const char* kTableHeadDouble =
    "|=========================================+========================+======================|\n";

std::string shorten(const std::string& text, std::size_t width) {
    return text.size() < width ? text : text.substr(0, width - 5) + "...";
}

std::string compute_text(unsigned mode) {
    return mode == NVML_COMPUTEMODE_EXCLUSIVE_PROCESS ? "E. Process" : compute_mode_name(mode);
}

std::string ecc_text(const Gpu& gpu) {
    const auto mode = gpu.ecc_mode();
    if (mode.ok() && mode.value.current == NVML_FEATURE_DISABLED) return "Off";
    const auto errors = gpu.ecc_errors(NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC);
    if (mode.ok() && errors.ok()) return std::to_string(errors.value);
    return table_problem(mode.ok() ? errors.code : mode.code);
}

std::string gpu_rows(const Gpu& gpu) {
    const auto on = [](unsigned state) { return on_off(state); };
    const std::string name = shorten(
        text_or(gpu.name(), table_problem, [](const auto& text) { return text; }), kNameWidth);
    std::string rows =
        print("| %3u  %-31s%-3s | %18s %-3s | %20s |\n", gpu.index(), name.c_str(),
              text_or(gpu.persistence(), table_problem, on).c_str(),
              text_or(gpu.bus_id(), table_problem, [](const auto& text) { return text; }).c_str(),
              text_or(gpu.display_active(), table_problem, on).c_str(), ecc_text(gpu).c_str());
    const auto watt = [](unsigned value) { return whole_watts(value) + "W"; };
    const auto memory = gpu.memory();
    const std::string used =
        text_or(memory, table_problem, [](const auto& m) { return mib(m.used) + "MiB"; });
    const std::string total =
        text_or(memory, table_problem, [](const auto& m) { return mib(m.total) + "MiB"; });
    rows +=
        print("|%4s  %4s    %-4s %13s / %5s |%11s / %9s | %7s %12s |\n",
              text_or(gpu.fan(), table_problem, [](unsigned v) { return std::to_string(v) + "%"; })
                  .c_str(),
              text_or(gpu.temperature(), table_problem,
                      [](unsigned v) { return std::to_string(v) + "C"; })
                  .c_str(),
              text_or(gpu.performance_state(), table_problem,
                      [](unsigned v) { return "P" + std::to_string(v); })
                  .c_str(),
              text_or(gpu.power(), table_problem, watt).c_str(),
              text_or(gpu.power_limit(), table_problem, watt).c_str(), used.c_str(), total.c_str(),
              text_or(gpu.utilization(), table_problem,
                      [](const auto& v) { return std::to_string(v.gpu) + "%"; })
                  .c_str(),
              text_or(gpu.compute_mode(), table_problem, compute_text).c_str());
    rows += print("| %39s | %22s | %20s |\n", "", "",
                  text_or(gpu.mig_mode(), table_problem, [](const Modes& m) {
                      return enabled_disabled(m.current);
                  }).c_str());
    return rows + kTableHead;
}

std::string device_rows(const Gpu& gpu, const Device& device) {
    const auto usage = [](std::uint64_t used, std::uint64_t total) {
        return mib(used) + "MiB / " + print("%5s", mib(total).c_str()) + "MiB";
    };
    const auto& parts = device.attributes;
    return print("|%3u%5u%4u%4u  |%30s    |%4u%7s|%4u%4u%5u%5u%5u |\n", gpu.index(),
                 device.gpu_instance, device.compute_instance, device.index,
                 usage(device.memory.used, device.memory.total).c_str(), parts.multiprocessorCount,
                 "0 ", parts.sharedCopyEngineCount, parts.sharedEncoderCount,
                 parts.sharedDecoderCount, parts.sharedOfaCount, parts.sharedJpegCount) +
           print("|%18s|%30s    |%11s|%23s|\n", "",
                 usage(device.bar1.bar1Used, device.bar1.bar1Total).c_str(), "", "");
}

/// The part of the table about MIG; nothing when no GPU is in that mode.
std::string mig_part(const View& view) {
    constexpr const char* kLine =
        "+------------------+----------------------------------+-----------+-----------------------"
        "+\n";
    std::string rows;
    bool any = false;
    for (const Gpu& gpu : view.gpus) {
        const auto mode = gpu.mig_mode();
        any = any || (mode.ok() && mode.value.current != NVML_DEVICE_MIG_DISABLE);
        for (const Device& device : gpu.mig_devices()) rows += device_rows(gpu, device) + kLine;
    }
    if (!any) return {};
    std::string text = std::string("\n") + kWide + print("| %-87s |\n", "MIG devices:") + kLine;
    text +=
        "| GPU  GI  CI  MIG |              Shared Memory-Usage |        Vol|        Shared         "
        "|\n"
        "|      ID  ID  Dev |                Shared BAR1-Usage | SM     Unc|  CE ENC  DEC  OFA  "
        "JPG "
        "|\n"
        "|                  |                                  |        ECC|                       "
        "|\n"
        "|==================+==================================+===========+======================="
        "|\n";
    if (!rows.empty()) return text + rows;
    return text + print("|  %-86s |\n", "No MIG devices found") + kWide;
}

std::string instance_text(std::uint32_t id) {
    return id == NVML_NO_INSTANCE ? "N/A" : std::to_string(id);
}

std::string process_rows(const View& view) {
    std::string rows;
    for (const Gpu& gpu : view.gpus) {
        for (const Process& process : gpu.processes().value) {
            std::string name = process_name(view.library, process.pid);
            if (name.size() > kProcessNameWidth) {
                name = "..." + name.substr(name.size() - kProcessNameWidth + 3);
            }
            const std::string memory = process.memory_bytes == NVML_VALUE_NOT_AVAILABLE
                                           ? "N/A"
                                           : mib(process.memory_bytes) + "MiB";
            rows += print("|%5u%6s%5s%16u%7s   %-36s%10s |\n", gpu.index(),
                          instance_text(process.gpu_instance).c_str(),
                          instance_text(process.compute_instance).c_str(), process.pid,
                          process.type.c_str(), name.c_str(), memory.c_str());
        }
    }
    if (rows.empty()) rows = print("|  %-86s |\n", "No running processes found");
    return rows;
}

}  // namespace

std::string show_table(const View& view) {
    std::string text = print("%-31s\n", date_text().c_str()) + kWide;
    text += print("| NVIDIA-SMI %-23sDriver Version: %-15sCUDA Version: %-9s|\n",
                  view.driver_version.c_str(), view.driver_version.c_str(),
                  cuda_text(view.cuda_version).c_str());
    text += kTableHead;
    text +=
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC "
        "|\n"
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. "
        "|\n"
        "|                                         |                        |               MIG M. "
        "|\n";
    text += kTableHeadDouble;
    for (const Gpu& gpu : view.gpus) text += gpu_rows(gpu);
    text += mig_part(view);
    text += std::string("\n") + kWide;
    text += print("| %-87s |\n", "Processes:");
    text +=
        "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory "
        "|\n"
        "|        ID   ID                                                               Usage      "
        "|\n";
    return text + kWideDouble + process_rows(view) + kWide;
}

std::string show_list(const View& view) {
    std::string text;
    for (const Gpu& gpu : view.gpus) {
        if (gpu.problem() != NVML_SUCCESS) continue;
        const auto same = [](const auto& value) { return value; };
        text += print("GPU %u: %s (UUID: %s)\n", gpu.index(),
                      text_or(gpu.name(), detail_problem, same).c_str(),
                      text_or(gpu.uuid(), detail_problem, same).c_str());
        for (const Device& device : gpu.mig_devices()) {
            text += print("  MIG %-11s Device %2u: (UUID: %s)\n", device.profile.c_str(),
                          device.index, device.uuid.c_str());
        }
    }
    return text;
}

Output name_missing(const View& view) {
    Output output;
    for (const Gpu& gpu : view.gpus) {
        if (gpu.problem() == NVML_SUCCESS) continue;
        if (output.code == 0) output.code = gpu.problem() > 255 ? 255 : gpu.problem();
        output.text += print("Unable to determine the device handle for GPU%u: %s%s\n", gpu.index(),
                             view.library.error_text(gpu.problem()).c_str(),
                             gpu.problem() == NVML_ERROR_GPU_IS_LOST
                                 ? ".  Reboot the system to recover this GPU"
                                 : "");
    }
    return output;
}

}  // namespace aliquot::sim::smi
