// SPDX-License-Identifier: Apache-2.0
//
// -q -x: what programs read instead of the sections; the names of nvsmi_device_v12.dtd.
#include <initializer_list>
#include <utility>

#include "sim/smi/fields.h"

namespace aliquot::sim::smi {
namespace {

std::string xml_escaped(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        if (c == '&') {
            safe += "&amp;";
        } else if (c == '<') {
            safe += "&lt;";
        } else if (c == '>') {
            safe += "&gt;";
        } else if (c == '"') {
            safe += "&quot;";
        } else {
            safe += c;
        }
    }
    return safe;
}

/// A text with an element a line, a tab in for each level.
class Writer {
public:
    void open(const std::string& name, const std::string& attributes = "") {
        indent();
        text_ += "<" + name + attributes + ">\n";
        ++level_;
    }
    void close(const std::string& name) {
        --level_;
        indent();
        text_ += "</" + name + ">\n";
    }
    void element(const std::string& name, std::string_view value) {
        indent();
        text_ += "<" + name + ">" + xml_escaped(value) + "</" + name + ">\n";
    }
    [[nodiscard]] const std::string& text() const { return text_; }

private:
    void indent() { text_.append(level_, '\t'); }
    std::string text_;
    std::size_t level_ = 0;
};

/// Elements of one GPU whose values are fields of --query-gpu.
class Elements {
public:
    using Pairs = std::initializer_list<std::pair<const char*, const char*>>;

    Elements(const View& view, const Gpu& gpu, Writer& out) : view_(view), gpu_(gpu), out_(out) {}

    /// `unit`   of values whose field has none in a --query-gpu
    void fields(Pairs pairs, std::string_view unit = "") {
        for (const auto& [element, name] : pairs) {
            const Field& field = *find_gpu_field(name);
            std::string value = field.ask(view_, gpu_);
            const std::string_view own = field.unit.empty() ? unit : std::string_view(field.unit);
            if (value.starts_with('[')) {
                value = value.substr(1, value.size() - 2);
            } else if (!own.empty() && value != "N/A") {
                value.append(" ").append(own);
            }
            out_.element(element, value);
        }
    }
    void group(const char* name, Pairs pairs, std::string_view unit = "") {
        out_.open(name);
        fields(pairs, unit);
        out_.close(name);
    }

private:
    const View& view_;
    const Gpu& gpu_;
    Writer& out_;
};

std::string with_mib(std::uint64_t bytes) { return mib(bytes) + " MiB"; }

void write_memory(const Gpu& gpu, Elements& elements, Writer& out) {
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

void write_errors(Elements& elements, Writer& out) {
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

void write_power(Elements& elements) {
    elements.fields({{"fan_speed", "fan.speed"}, {"performance_state", "pstate"}});
    elements.group("temperature",
                   {{"gpu_temp", "temperature.gpu"},
                    {"gpu_temp_tlimit", "temperature.gpu.tlimit"},
                    {"memory_temp", "temperature.memory"}},
                   "C");
    elements.group("gpu_power_readings", {{"power_state", "pstate"},
                                          {"power_draw", "power.draw"},
                                          {"average_power_draw", "power.draw.average"},
                                          {"instant_power_draw", "power.draw.instant"},
                                          {"current_power_limit", "enforced.power.limit"},
                                          {"requested_power_limit", "power.limit"},
                                          {"default_power_limit", "power.default_limit"},
                                          {"min_power_limit", "power.min_limit"},
                                          {"max_power_limit", "power.max_limit"}});
    elements.group("clocks", {{"graphics_clock", "clocks.gr"},
                              {"sm_clock", "clocks.sm"},
                              {"mem_clock", "clocks.mem"},
                              {"video_clock", "clocks.video"}});
    elements.group("max_clocks", {{"graphics_clock", "clocks.max.graphics"},
                                  {"sm_clock", "clocks.max.sm"},
                                  {"mem_clock", "clocks.max.memory"}});
}

void write_pci(const View& view, const Gpu& gpu, Elements& elements, Writer& out) {
    out.open("pci");
    elements.fields({{"pci_bus", "pci.bus"},
                     {"pci_device", "pci.device"},
                     {"pci_domain", "pci.domain"},
                     {"pci_device_id", "pci.device_id"},
                     {"pci_bus_id", "pci.bus_id"},
                     {"pci_sub_system_id", "pci.sub_device_id"}});
    out.open("pci_gpu_link_info");
    elements.group("pcie_gen", {{"max_link_gen", "pcie.link.gen.max"},
                                {"current_link_gen", "pcie.link.gen.current"},
                                {"device_current_link_gen", "pcie.link.gen.gpucurrent"},
                                {"max_device_link_gen", "pcie.link.gen.gpumax"}});
    out.open("link_widths");
    for (const auto& [element, name] : {std::pair{"max_link_width", "pcie.link.width.max"},
                                        {"current_link_width", "pcie.link.width.current"}}) {
        const std::string lanes = find_gpu_field(name)->ask(view, gpu);
        out.element(element, lanes.starts_with('[') ? "N/A" : lanes + "x");
    }
    out.close("link_widths");
    out.close("pci_gpu_link_info");
    out.close("pci");
}

std::string instance_or_none(std::uint32_t id) {
    return id == NVML_NO_INSTANCE ? "N/A" : std::to_string(id);
}

void write_processes(const View& view, const Gpu& gpu, Writer& out) {
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

void write_mig_devices(const Gpu& gpu, Writer& out) {
    const std::vector<Device> devices = gpu.mig_devices();
    if (devices.empty()) return out.element("mig_devices", "None");
    out.open("mig_devices");
    for (const Device& device : devices) {
        out.open("mig_device");
        out.element("index", std::to_string(device.index));
        out.element("gpu_instance_id", std::to_string(device.gpu_instance));
        out.element("compute_instance_id", std::to_string(device.compute_instance));
        out.open("fb_memory_usage");
        out.element("total", with_mib(device.memory.total));
        out.element("used", with_mib(device.memory.used));
        out.element("free", with_mib(device.memory.free));
        out.close("fb_memory_usage");
        out.close("mig_device");
    }
    out.close("mig_devices");
}

void write_gpu(const View& view, const Gpu& gpu, Writer& out) {
    const std::string id =
        text_or(gpu.bus_id(), detail_problem, [](const auto& text) { return text; });
    out.open("gpu", " id=\"" + xml_escaped(id) + "\"");
    Elements elements(view, gpu, out);
    elements.fields({{"product_name", "name"}});
    out.element("product_architecture",
                text_or(gpu.architecture(), detail_problem, architecture_name));
    elements.fields(
        {{"display_active", "display_active"}, {"persistence_mode", "persistence_mode"}});
    elements.group("mig_mode",
                   {{"current_mig", "mig.mode.current"}, {"pending_mig", "mig.mode.pending"}});
    write_mig_devices(gpu, out);
    elements.fields(
        {{"accounting_mode", "accounting.mode"}, {"serial", "serial"}, {"uuid", "uuid"}});
    out.element("minor_number", text_or(gpu.minor(), detail_problem,
                                        [](unsigned number) { return std::to_string(number); }));
    elements.fields({{"vbios_version", "vbios_version"}});
    out.element("gpu_part_number",
                text_or(gpu.part_number(), detail_problem, [](const auto& text) { return text; }));
    write_pci(view, gpu, elements, out);
    write_memory(gpu, elements, out);
    write_errors(elements, out);
    write_power(elements);
    write_processes(view, gpu, out);
    out.close("gpu");
}

}  // namespace

std::string show_xml(const View& view) {
    Writer out;
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
           "<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n" +
           out.text();
}

}  // namespace aliquot::sim::smi
