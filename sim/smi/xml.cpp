// SPDX-License-Identifier: Apache-2.0
//
// -q -x: what programs read instead of the sections; the names of nvsmi_device_v12.dtd, and from driver 560 on those
// of nvsmi_device_v13.dtd.
#include <charconv>
#include <initializer_list>
#include <utility>

#include "sim/smi/fields.h"
#include "sim/smi/xml_writer.h"

namespace aliquot::sim::smi {
namespace {

/// Elements of one GPU whose values are fields of --query-gpu.
class Elements {
public:
    using Pairs = std::initializer_list<std::pair<const char*, const char*>>;

    Elements(const View& view, const Gpu& gpu, XmlWriter& out)
        : view_(view), gpu_(gpu), out_(out) {}

    /// `unit`   of values whose field has none in a --query-gpu
    void fields(Pairs pairs, std::string_view unit = "") {
        for (const auto& [element, name] : pairs) out_.element(element, value(name, unit));
    }
    /// Numbers without the 0x that a --query-gpu has.
    void hex_fields(Pairs pairs) {
        for (const auto& [element, name] : pairs) {
            const std::string text = value(name, "");
            out_.element(element, text.starts_with("0x") ? text.substr(2) : text);
        }
    }
    void group(const char* name, Pairs pairs, std::string_view unit = "") {
        out_.open(name);
        fields(pairs, unit);
        out_.close(name);
    }

private:
    std::string value(const char* name, std::string_view unit) const {
        const Field& field = *find_gpu_field(name);
        std::string value = field.ask(view_, gpu_);
        const std::string_view own = field.unit.empty() ? unit : std::string_view(field.unit);
        if (value.starts_with('[')) return value.substr(1, value.size() - 2);
        if (!own.empty() && value != "N/A") value.append(" ").append(own);
        return value;
    }

    const View& view_;
    const Gpu& gpu_;
    XmlWriter& out_;
};

/// The number of the format, by the driver's major version.
unsigned format_of(const std::string& driver_version) {
    unsigned major = 0;
    std::from_chars(driver_version.data(), driver_version.data() + driver_version.size(), major);
    return major >= 560 ? 13 : 12;
}

std::string with_mib(std::uint64_t bytes) { return mib(bytes) + " MiB"; }

void write_memory(const Gpu& gpu, Elements& elements, XmlWriter& out) {
    elements.group("fb_memory_usage", {{"total", "memory.total"},
                                       {"reserved", "memory.reserved"},
                                       {"used", "memory.used"},
                                       {"free", "memory.free"}});
    const auto bar1 = gpu.bar1();
    out.open("bar1_memory_usage");
    for (const auto& [name, part] : {std::pair{"total", &nvmlBAR1Memory_t::bar1Total},
                                     {"used", &nvmlBAR1Memory_t::bar1Used},
                                     {"free", &nvmlBAR1Memory_t::bar1Free}}) {
        out.element(name, text_or(bar1, detail_problem,
                                  [part](const auto& memory) { return with_mib(memory.*part); }));
    }
    out.close("bar1_memory_usage");
    elements.group("cc_protected_memory_usage", {{"total", "protected_memory.total"},
                                                 {"used", "protected_memory.used"},
                                                 {"free", "protected_memory.free"}});
    elements.fields({{"compute_mode", "compute_mode"}});
    elements.group("utilization", {{"gpu_util", "utilization.gpu"},
                                   {"memory_util", "utilization.memory"},
                                   {"encoder_util", "utilization.encoder"},
                                   {"decoder_util", "utilization.decoder"},
                                   {"jpeg_util", "utilization.jpeg"},
                                   {"ofa_util", "utilization.ofa"}});
    for (const char* const name : {"encoder_stats", "fbc_stats"}) {
        elements.group(name, {{"session_count", "encoder.stats.sessionCount"},
                              {"average_fps", "encoder.stats.averageFps"},
                              {"average_latency", "encoder.stats.averageLatency"}});
    }
}

void write_errors(Elements& elements, XmlWriter& out) {
    elements.group("ecc_mode",
                   {{"current_ecc", "ecc.mode.current"}, {"pending_ecc", "ecc.mode.pending"}});
    out.open("ecc_errors");
    elements.group("volatile",
                   {{"sram_correctable", "ecc.errors.corrected.volatile.sram"},
                    {"sram_uncorrectable_parity", "ecc.errors.uncorrected.volatile.sram.parity"},
                    {"sram_uncorrectable_secded", "ecc.errors.uncorrected.volatile.sram.secded"},
                    {"dram_correctable", "ecc.errors.corrected.volatile.dram"},
                    {"dram_uncorrectable", "ecc.errors.uncorrected.volatile.dram"}});
    elements.group("aggregate",
                   {{"sram_correctable", "ecc.errors.corrected.aggregate.sram"},
                    {"sram_uncorrectable_parity", "ecc.errors.uncorrected.aggregate.sram.parity"},
                    {"sram_uncorrectable_secded", "ecc.errors.uncorrected.aggregate.sram.secded"},
                    {"dram_correctable", "ecc.errors.corrected.aggregate.dram"},
                    {"dram_uncorrectable", "ecc.errors.uncorrected.aggregate.dram"}});
    out.close("ecc_errors");
    out.open("retired_pages");
    elements.group("multiple_single_bit_retirement",
                   {{"retired_count", "retired_pages.single_bit_ecc.count"}});
    elements.group("double_bit_retirement", {{"retired_count", "retired_pages.double_bit.count"}});
    elements.fields({{"pending_blacklist", "retired_pages.pending"},
                     {"pending_retirement", "retired_pages.pending"}});
    out.close("retired_pages");
    elements.group("remapped_rows", {{"remapped_row_corr", "remapped_rows.correctable"},
                                     {"remapped_row_unc", "remapped_rows.uncorrectable"},
                                     {"remapped_row_pending", "remapped_rows.pending"},
                                     {"remapped_row_failure", "remapped_rows.failure"}});
}

void write_clock_reasons(Elements& elements) {
    elements.group(
        "clocks_event_reasons",
        {{"clocks_event_reason_gpu_idle", "clocks_event_reasons.gpu_idle"},
         {"clocks_event_reason_applications_clocks_setting",
          "clocks_event_reasons.applications_clocks_setting"},
         {"clocks_event_reason_sw_power_cap", "clocks_event_reasons.sw_power_cap"},
         {"clocks_event_reason_hw_slowdown", "clocks_event_reasons.hw_slowdown"},
         {"clocks_event_reason_hw_thermal_slowdown", "clocks_event_reasons.hw_thermal_slowdown"},
         {"clocks_event_reason_hw_power_brake_slowdown",
          "clocks_event_reasons.hw_power_brake_slowdown"},
         {"clocks_event_reason_sync_boost", "clocks_event_reasons.sync_boost"},
         {"clocks_event_reason_sw_thermal_slowdown", "clocks_event_reasons.sw_thermal_slowdown"}});
    elements.group(
        "clocks_event_reasons_counters",
        {{"clocks_event_reasons_counters_sw_power_cap",
          "clocks_event_reasons_counters.sw_power_cap"},
         {"clocks_event_reasons_counters_sync_boost", "clocks_event_reasons_counters.sync_boost"},
         {"clocks_event_reasons_counters_sw_therm_slowdown",
          "clocks_event_reasons_counters.sw_thermal_slowdown"},
         {"clocks_event_reasons_counters_hw_therm_slowdown",
          "clocks_event_reasons_counters.hw_thermal_slowdown"},
         {"clocks_event_reasons_counters_hw_power_brake",
          "clocks_event_reasons_counters.hw_power_brake_slowdown"}});
}

void write_temperature(const Gpu& gpu, Elements& elements, XmlWriter& out) {
    const auto threshold = [&](const char* name, nvmlTemperatureThresholds_t type) {
        out.element(name, text_or(gpu.threshold(type), detail_problem,
                                  [](unsigned celsius) { return std::to_string(celsius) + " C"; }));
    };
    out.open("temperature");
    elements.fields(
        {{"gpu_temp", "temperature.gpu"}, {"gpu_temp_tlimit", "temperature.gpu.tlimit"}}, "C");
    threshold("gpu_temp_max_threshold", NVML_TEMPERATURE_THRESHOLD_SHUTDOWN);
    threshold("gpu_temp_slow_threshold", NVML_TEMPERATURE_THRESHOLD_SLOWDOWN);
    threshold("gpu_temp_max_gpu_threshold", NVML_TEMPERATURE_THRESHOLD_GPU_MAX);
    elements.fields({{"memory_temp", "temperature.memory"}}, "C");
    threshold("gpu_temp_max_mem_threshold", NVML_TEMPERATURE_THRESHOLD_MEM_MAX);
    out.close("temperature");
}

/// Format 13 has the mean and the present draw where 12 has one, which who reads 12 looks for in any.
void write_power(unsigned format, Elements& elements, XmlWriter& out) {
    out.open("gpu_power_readings");
    elements.fields({{"power_state", "pstate"}, {"power_draw", "power.draw"}});
    if (format >= 13)
        elements.fields({{"average_power_draw", "power.draw.average"},
                         {"instant_power_draw", "power.draw.instant"}});
    elements.fields({{"current_power_limit", "enforced.power.limit"},
                     {"requested_power_limit", "power.limit"},
                     {"default_power_limit", "power.default_limit"},
                     {"min_power_limit", "power.min_limit"},
                     {"max_power_limit", "power.max_limit"}});
    out.close("gpu_power_readings");
    out.open("module_power_readings");
    elements.fields({{"power_state", "pstate"}, {"power_draw", "module.power.draw.instant"}});
    if (format >= 13)
        elements.fields({{"average_power_draw", "module.power.draw.average"},
                         {"instant_power_draw", "module.power.draw.instant"}});
    elements.fields({{"current_power_limit", "module.enforced.power.limit"},
                     {"requested_power_limit", "module.power.limit"},
                     {"default_power_limit", "module.power.default_limit"},
                     {"min_power_limit", "module.power.min_limit"},
                     {"max_power_limit", "module.power.max_limit"}});
    out.close("module_power_readings");
}

void write_clocks(Elements& elements) {
    elements.group("clocks", {{"graphics_clock", "clocks.gr"},
                              {"sm_clock", "clocks.sm"},
                              {"mem_clock", "clocks.mem"},
                              {"video_clock", "clocks.video"}});
    elements.group("applications_clocks", {{"graphics_clock", "clocks.applications.graphics"},
                                           {"mem_clock", "clocks.applications.memory"}});
    elements.group("max_clocks", {{"graphics_clock", "clocks.max.graphics"},
                                  {"sm_clock", "clocks.max.sm"},
                                  {"mem_clock", "clocks.max.memory"}});
    elements.group("fabric", {{"state", "fabric.state"},
                              {"status", "fabric.status"},
                              {"cliqueId", "fabric.cliqueId"},
                              {"clusterUuid", "fabric.clusterUuid"}});
}

void write_pci(const View& view, const Gpu& gpu, Elements& elements, XmlWriter& out) {
    out.open("pci");
    elements.hex_fields({{"pci_bus", "pci.bus"},
                         {"pci_device", "pci.device"},
                         {"pci_domain", "pci.domain"},
                         {"pci_base_class", "pci.baseClass"},
                         {"pci_sub_class", "pci.subClass"},
                         {"pci_device_id", "pci.device_id"},
                         {"pci_bus_id", "pci.bus_id"},
                         {"pci_sub_system_id", "pci.sub_device_id"}});
    out.open("pci_gpu_link_info");
    elements.group("pcie_gen", {{"max_link_gen", "pcie.link.gen.max"},
                                {"current_link_gen", "pcie.link.gen.current"},
                                {"device_current_link_gen", "pcie.link.gen.gpucurrent"},
                                {"max_device_link_gen", "pcie.link.gen.gpumax"},
                                {"max_host_link_gen", "pcie.link.gen.hostmax"}});
    out.open("link_widths");
    for (const auto& [element, name] : {std::pair{"max_link_width", "pcie.link.width.max"},
                                        {"current_link_width", "pcie.link.width.current"}}) {
        const std::string lanes = find_gpu_field(name)->ask(view, gpu);
        out.element(element, lanes.starts_with('[') ? "N/A" : lanes + "x");
    }
    out.close("link_widths");
    out.close("pci_gpu_link_info");
    for (const auto& [element, counter] :
         {std::pair{"tx_util", NVML_PCIE_UTIL_TX_BYTES}, {"rx_util", NVML_PCIE_UTIL_RX_BYTES}}) {
        const auto rate = SMI_NUMBER(gpu, unsigned, nvmlDeviceGetPcieThroughput, counter);
        out.element(element, text_or(rate, detail_problem, [](unsigned kilobytes) {
                        return std::to_string(kilobytes) + " KB/s";
                    }));
    }
    out.close("pci");
}

std::string instance_or_none(std::uint32_t id) {
    return id == NVML_NO_INSTANCE ? "N/A" : std::to_string(id);
}

void write_processes(const View& view, const Gpu& gpu, XmlWriter& out) {
    out.open("processes");
    for (const Process& process : gpu.processes().value) {
        out.open("process_info");
        out.element("gpu_instance_id", instance_or_none(process.gpu_instance));
        out.element("compute_instance_id", instance_or_none(process.compute_instance));
        out.element("pid", std::to_string(process.pid));
        out.element("type", process.type);
        out.element("process_name", process_name(view.library, process.pid));
        out.element("used_memory", process.memory_bytes == NVML_VALUE_NOT_AVAILABLE
                                       ? "N/A"
                                       : with_mib(process.memory_bytes));
        out.close("process_info");
    }
    out.close("processes");
}

void write_mig_parts(const Device& device, XmlWriter& out) {
    const auto& has = device.attributes;
    out.open("device_attributes");
    out.open("shared");
    out.element("multiprocessor_count", std::to_string(has.multiprocessorCount));
    out.element("copy_engine_count", std::to_string(has.sharedCopyEngineCount));
    out.element("encoder_count", std::to_string(has.sharedEncoderCount));
    out.element("decoder_count", std::to_string(has.sharedDecoderCount));
    out.element("ofa_count", std::to_string(has.sharedOfaCount));
    out.element("jpg_count", std::to_string(has.sharedJpegCount));
    out.close("shared");
    out.close("device_attributes");
    out.open("ecc_error_count");
    out.open("volatile_count");
    out.element("sram_uncorrectable", "0");
    out.close("volatile_count");
    out.close("ecc_error_count");
}

void write_mig_devices(const Gpu& gpu, XmlWriter& out) {
    const std::vector<Device> devices = gpu.mig_devices();
    if (devices.empty()) return out.element("mig_devices", "None");
    out.open("mig_devices");
    for (const Device& device : devices) {
        out.open("mig_device");
        out.element("index", std::to_string(device.index));
        out.element("gpu_instance_id", std::to_string(device.gpu_instance));
        out.element("compute_instance_id", std::to_string(device.compute_instance));
        write_mig_parts(device, out);
        out.open("fb_memory_usage");
        out.element("total", with_mib(device.memory.total));
        out.element("reserved", with_mib(device.reserved_bytes));
        out.element("used", with_mib(device.memory.used));
        out.element("free", with_mib(device.memory.free));
        out.close("fb_memory_usage");
        out.open("bar1_memory_usage");
        out.element("total", with_mib(device.bar1.bar1Total));
        out.element("used", with_mib(device.bar1.bar1Used));
        out.element("free", with_mib(device.bar1.bar1Free));
        out.close("bar1_memory_usage");
        out.close("mig_device");
    }
    out.close("mig_devices");
}

void write_gpu(const View& view, const Gpu& gpu, XmlWriter& out) {
    const std::string id =
        text_or(gpu.bus_id(), detail_problem, [](const auto& text) { return text; });
    out.open("gpu", " id=\"" + XmlWriter::escaped(id) + "\"");
    Elements elements(view, gpu, out);
    elements.fields({{"product_name", "name"}});
    out.element("product_architecture",
                text_or(gpu.architecture(), detail_problem, architecture_name));
    elements.fields({{"display_mode", "display_mode"},
                     {"display_attached", "display_attached"},
                     {"display_active", "display_active"},
                     {"persistence_mode", "persistence_mode"},
                     {"addressing_mode", "addressing_mode"}});
    elements.group("mig_mode",
                   {{"current_mig", "mig.mode.current"}, {"pending_mig", "mig.mode.pending"}});
    write_mig_devices(gpu, out);
    elements.fields({{"accounting_mode", "accounting.mode"},
                     {"accounting_mode_buffer_size", "accounting.buffer_size"},
                     {"serial", "serial"},
                     {"uuid", "uuid"}});
    out.element("minor_number", text_or(gpu.minor(), detail_problem,
                                        [](unsigned number) { return std::to_string(number); }));
    elements.fields({{"vbios_version", "vbios_version"}});
    out.element("gpu_part_number",
                text_or(gpu.part_number(), detail_problem, [](const auto& text) { return text; }));
    const unsigned format = format_of(view.driver_version);
    if (format >= 13) elements.fields({{"gpu_recovery_action", "gpu_recovery_action"}});
    write_pci(view, gpu, elements, out);
    elements.fields({{"fan_speed", "fan.speed"}, {"performance_state", "pstate"}});
    write_clock_reasons(elements);
    write_memory(gpu, elements, out);
    write_errors(elements, out);
    write_temperature(gpu, elements, out);
    write_power(format, elements, out);
    write_clocks(elements);
    write_processes(view, gpu, out);
    out.close("gpu");
}

}  // namespace

std::string show_xml(const View& view) {
    XmlWriter out;
    out.open("nvidia_smi_log");
    out.element("timestamp", date_text());
    out.element("driver_version", view.driver_version);
    out.element("cuda_version", cuda_text(view.cuda_version));
    out.element("attached_gpus", std::to_string(view.attached));
    for (const Gpu& gpu : view.gpus) {
        if (gpu.problem() == NVML_SUCCESS) write_gpu(view, gpu, out);
    }
    out.close("nvidia_smi_log");
    return "<?xml version=\"1.0\" ?>\n"
           "<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v" +
           std::to_string(format_of(view.driver_version)) + ".dtd\">\n" + out.text();
}

}  // namespace aliquot::sim::smi
