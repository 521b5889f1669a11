// SPDX-License-Identifier: Apache-2.0
//
// dmon, pmon and topo -m.
#include <string_view>

#include "sim/smi/show.h"
#include "sim/smi/text.h"

namespace aliquot::sim::smi {
namespace {

template <class T, class Text>
std::string cell(const Reading<T>& reading, Text text) {
    return reading.ok() ? std::string(text(reading.value)) : "-";
}
std::string cell(const Reading<unsigned>& reading) {
    return cell(reading, [](unsigned value) { return std::to_string(value); });
}

struct Column {
    char group;
    const char* name;
    const char* unit;
    std::string (*ask)(const Gpu&);
};

constexpr Column kColumns[] = {
    {'p', "pwr", "W", [](const Gpu& gpu) { return cell(gpu.power(), whole_watts); }},
    {'p', "gtemp", "C", [](const Gpu& gpu) { return cell(gpu.temperature()); }},
    {'u', "sm", "%",
     [](const Gpu& gpu) {
         return cell(gpu.utilization(), [](const auto& u) { return std::to_string(u.gpu); });
     }},
    {'u', "mem", "%",
     [](const Gpu& gpu) {
         return cell(gpu.utilization(), [](const auto& u) { return std::to_string(u.memory); });
     }},
    {'u', "enc", "%", [](const Gpu& gpu) { return cell(gpu.encoder()); }},
    {'u', "dec", "%", [](const Gpu& gpu) { return cell(gpu.decoder()); }},
    {'u', "jpg", "%", [](const Gpu& gpu) { return cell(gpu.jpeg()); }},
    {'u', "ofa", "%", [](const Gpu& gpu) { return cell(gpu.flow()); }},
    {'c', "mclk", "MHz", [](const Gpu& gpu) { return cell(gpu.clock(NVML_CLOCK_MEM)); }},
    {'c', "pclk", "MHz", [](const Gpu& gpu) { return cell(gpu.clock(NVML_CLOCK_SM)); }},
    {'m', "fb", "MB",
     [](const Gpu& gpu) { return cell(gpu.memory(), [](const auto& m) { return mib(m.used); }); }},
    {'m', "bar1", "MB",
     [](const Gpu& gpu) {
         return cell(gpu.bar1(), [](const auto& m) { return mib(m.bar1Used); });
     }},
};

std::string affinity(const Gpu& gpu) {
    constexpr unsigned kWords = 16;
    std::vector<unsigned long> cpus(kWords, 0);
    const auto code = gpu.handle() == nullptr ? gpu.problem()
                                              : SMI_CALL(gpu.library(), nvmlDeviceGetCpuAffinity,
                                                         gpu.handle(), kWords, cpus.data());
    if (code != NVML_SUCCESS) return "N/A";
    std::string text;
    constexpr unsigned kBits = 8 * sizeof(unsigned long);
    const auto has = [&cpus](unsigned cpu) {
        return cpu < kWords * kBits && ((cpus[cpu / kBits] >> (cpu % kBits)) & 1U) != 0;
    };
    for (unsigned cpu = 0; cpu < kWords * kBits; ++cpu) {
        if (!has(cpu)) continue;
        const unsigned first = cpu;
        while (has(cpu + 1)) ++cpu;
        text += (text.empty() ? "" : ",") + std::to_string(first);
        if (cpu != first) text += "-" + std::to_string(cpu);
    }
    return text.empty() ? "N/A" : text;
}

std::string numa(const Gpu& gpu) {
    unsigned long nodes = 0;
    constexpr unsigned kScope = NVML_AFFINITY_SCOPE_NODE;
    const auto code = gpu.handle() == nullptr ? gpu.problem()
                                              : SMI_CALL(gpu.library(), nvmlDeviceGetMemoryAffinity,
                                                         gpu.handle(), 1U, &nodes, kScope);
    if (code != NVML_SUCCESS || nodes == 0) return "N/A";
    unsigned node = 0;
    while (((nodes >> node) & 1U) == 0) ++node;
    return std::to_string(node);
}

unsigned count_links(const Gpu& from, const Gpu& to) {
    const auto target = to.pci();
    if (from.handle() == nullptr || !target.ok()) return 0;
    unsigned count = 0;
    for (unsigned link = 0; link < NVML_NVLINK_MAX_LINKS; ++link) {
        nvmlEnableState_t state = NVML_FEATURE_DISABLED;
        nvmlPciInfo_t remote{};
        nvmlIntNvLinkDeviceType_t type = NVML_NVLINK_DEVICE_TYPE_UNKNOWN;
        if (SMI_CALL(from.library(), nvmlDeviceGetNvLinkState, from.handle(), link, &state) !=
            NVML_SUCCESS)
            break;
        if (state != NVML_FEATURE_ENABLED) continue;
        (void)SMI_CALL(from.library(), nvmlDeviceGetNvLinkRemoteDeviceType, from.handle(), link,
                       &type);
        if (type == NVML_NVLINK_DEVICE_TYPE_SWITCH) {
            ++count;  // every GPU on the switch is reached with all links
            continue;
        }
        if (SMI_CALL(from.library(), nvmlDeviceGetNvLinkRemotePciInfo_v2, from.handle(), link,
                     &remote) != NVML_SUCCESS) {
            continue;
        }
        if (remote.domain == target.value.domain && remote.bus == target.value.bus &&
            remote.device == target.value.device) {
            ++count;
        }
    }
    return count;
}

std::string connection(const Gpu& from, const Gpu& to) {
    if (const unsigned links = count_links(from, to); links > 0)
        return "NV" + std::to_string(links);
    nvmlGpuTopologyLevel_t level = NVML_TOPOLOGY_SYSTEM;
    if (from.handle() == nullptr || to.handle() == nullptr ||
        SMI_CALL(from.library(), nvmlDeviceGetTopologyCommonAncestor, from.handle(), to.handle(),
                 &level) != NVML_SUCCESS) {
        return "N/A";
    }
    switch (level) {
        case NVML_TOPOLOGY_INTERNAL:
        case NVML_TOPOLOGY_SINGLE:
            return "PIX";
        case NVML_TOPOLOGY_MULTIPLE:
            return "PXB";
        case NVML_TOPOLOGY_HOSTBRIDGE:
            return "PHB";
        case NVML_TOPOLOGY_NODE:
            return "NODE";
        default:
            return "SYS";
    }
}

}  // namespace

std::string show_gpu_monitor(const View& view, const Request& request, bool first_round) {
    std::string text;
    const auto chosen = [&request](const Column& column) {
        return request.groups.contains(column.group);
    };
    if (first_round) {
        text += "# gpu ";
        for (const Column& column : kColumns) {
            if (chosen(column)) text += print("%6s ", column.name);
        }
        text += "\n# Idx ";
        for (const Column& column : kColumns) {
            if (chosen(column)) text += print("%6s ", column.unit);
        }
        text += "\n";
    }
    for (const Gpu& gpu : view.gpus) {
        text += print("%5u ", gpu.index());
        for (const Column& column : kColumns) {
            if (chosen(column)) text += print("%6s ", column.ask(gpu).c_str());
        }
        text += "\n";
    }
    return text;
}

std::string show_process_monitor(const View& view, bool first_round) {
    std::string text;
    if (first_round) {
        text +=
            "# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command \n"
            "# Idx           #    C/G      %      %      %      %      %      %    name \n";
    }
    for (const Gpu& gpu : view.gpus) {
        const auto processes = gpu.processes();
        for (const Process& process : processes.value) {
            std::string name = process_name(view.library, process.pid);
            name.erase(0, name.rfind('/') + 1);  // nothing when there is no slash
            const auto load = [&process](unsigned percent) {
                return process.has_load ? std::to_string(percent) : std::string("-");
            };
            text += print("%5u %10u %6s %6s %6s %6s %6s %6s %6s    %-15s\n", gpu.index(),
                          process.pid, process.type.c_str(), load(process.sm_percent).c_str(),
                          load(process.memory_percent).c_str(), "-", "-", "-", "-",
                          name.substr(0, 15).c_str());
        }
        if (processes.value.empty()) {
            text += print("%5u %10s %6s %6s %6s %6s %6s %6s %6s    %-15s\n", gpu.index(), "-", "-",
                          "-", "-", "-", "-", "-", "-", "-");
        }
    }
    return text;
}

std::string show_topology(const View& view) {
    std::string text = "\t";
    for (const Gpu& gpu : view.gpus) text += print("GPU%u\t", gpu.index());
    text += "CPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
    for (const Gpu& from : view.gpus) {
        text += print("GPU%u\t", from.index());
        for (const Gpu& to : view.gpus) {
            text += (from.index() == to.index() ? " X " : connection(from, to)) + "\t";
        }
        text += affinity(from) + "\t" + numa(from) + "\t\tN/A\n";
    }
    return text +
           "\nLegend:\n\n"
           "  X    = the GPU itself\n"
           "  SYS  = the path crosses from one CPU socket to another\n"
           "  NODE = the path crosses PCIe host bridges of one NUMA node\n"
           "  PHB  = the path crosses one PCIe host bridge (the CPU)\n"
           "  PXB  = the path crosses several PCIe switches\n"
           "  PIX  = the path crosses at most one PCIe switch\n"
           "  NV#  = # NVLinks in parallel\n";
}

}  // namespace aliquot::sim::smi
