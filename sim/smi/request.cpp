// SPDX-License-Identifier: Apache-2.0
#include "sim/smi/request.h"

#include <algorithm>
#include <optional>
#include <span>

#include "abi/nvml.h"
#include "base/number.h"
#include "sim/smi/arguments.h"

namespace aliquot::sim::smi {
namespace {

constexpr unsigned kMostSeconds = 3600;

std::optional<unsigned> compute_mode(const std::string& text) {
    const std::string name = upper(text);
    if (name == "0" || name == "DEFAULT") return NVML_COMPUTEMODE_DEFAULT;
    if (name == "1" || name == "EXCLUSIVE_THREAD") return NVML_COMPUTEMODE_EXCLUSIVE_PROCESS;
    if (name == "2" || name == "PROHIBITED") return NVML_COMPUTEMODE_PROHIBITED;
    if (name == "3" || name == "EXCLUSIVE_PROCESS") return NVML_COMPUTEMODE_EXCLUSIVE_PROCESS;
    return std::nullopt;
}

Result<Done> read_format(const std::string& text, Request& request) {
    const auto words = list_in(text);
    if (std::ranges::find(words, "csv") == words.end()) {
        return invalid("Format '" + text +
                       "' is not known: use --format=csv[,noheader][,nounits].");
    }
    for (const std::string& word : words) {
        if (word == "noheader") {
            request.header = false;
        } else if (word == "nounits") {
            request.units = false;
        } else if (word != "csv") {
            return invalid("Format option '" + word + "' is not known.");
        }
    }
    return Done{};
}

Result<Done> read_interval(const std::optional<std::string>& text, unsigned unit_ms,
                           Request& request) {
    const auto value = text ? parse_number<unsigned>(*text) : std::optional<unsigned>(5);
    if (!value || *value == 0 || *value > kMostSeconds * 1000 / unit_ms) {
        return invalid("Loop interval '" + text.value_or("") + "' is not a number in range.");
    }
    request.interval = std::chrono::milliseconds(*value * unit_ms);
    return Done{};
}

Result<Request> parse_monitor(Request::Kind kind, std::span<const std::string> arguments) {
    Request request;
    request.kind = kind;
    request.interval = std::chrono::seconds(1);
    Reader reader(arguments);
    while (reader.next()) {
        const std::string option = reader.option();
        const auto value = reader.value();
        if (!value) return invalid("Option '" + option + "' needs a value or is not known.");
        if (option == "-i" || option == "--id") {
            request.gpus = list_in(*value);
        } else if (option == "-s" || option == "--select") {
            request.groups = *value;
            if (value->find_first_not_of("pucm") != std::string::npos || value->empty()) {
                return invalid("Metric group '" + *value + "' is not known: use p, u, c, m.");
            }
        } else if (option == "-c" || option == "--count") {
            const auto count = parse_number<unsigned>(*value);
            if (!count || *count == 0) return invalid("Count '" + *value + "' is not a number.");
            request.rounds = *count;
        } else if (option == "-d" || option == "--delay") {
            auto read = read_interval(value, 1000, request);
            if (!read) return std::move(read).error();
        } else {
            return invalid("Option '" + option + "' is not known.");
        }
    }
    return request;
}

Result<Request> check_topology(std::span<const std::string> arguments) {
    if (arguments.size() != 1 || (arguments[0] != "-m" && arguments[0] != "--matrix")) {
        return invalid("topo: only -m (--matrix) is supported.");
    }
    Request request;
    request.kind = Request::Kind::kTopology;
    return request;
}

Result<Request> parse_nvlink(std::span<const std::string> arguments) {
    Request request;
    request.kind = Request::Kind::kNvlink;
    bool status = false;
    Reader reader(arguments);
    while (reader.next()) {
        if (reader.is("-s", "--status")) {
            status = true;
        } else if (reader.is("-i", "--id")) {
            const auto value = reader.value();
            if (!value) return invalid("Option '-i' needs a value.");
            request.gpus = list_in(*value);
        } else {
            return invalid("nvlink: only -s (--status) and -i are supported.");
        }
    }
    if (!status) return invalid("nvlink: only -s (--status) and -i are supported.");
    return request;
}

/// One option that sets a mode of GPUs; false: it is none.
Result<bool> read_mode(Reader& reader, Request& request) {
    using Kind = Request::Kind;
    const std::string option = reader.option();
    const auto needs_value = [&option] {
        return invalid("Option '" + option + "' needs a value.");
    };
    if (reader.is("-pm", "--persistence-mode")) {
        const auto value = reader.value();
        if (!value || (*value != "0" && *value != "1")) return needs_value();
        request.kind = Kind::kSetPersistence;
        request.value = *value == "1" ? 1 : 0;
    } else if (reader.is("-c", "--compute-mode")) {
        const auto value = reader.value();
        const auto mode = value ? compute_mode(*value) : std::nullopt;
        if (!mode) return invalid("Compute mode '" + value.value_or("") + "' is not valid.");
        request.kind = Kind::kSetComputeMode;
        request.value = *mode;
    } else if (reader.is("-mig", "--multi-instance-gpu")) {
        const auto value = reader.value();
        if (!value || (*value != "0" && *value != "1")) return needs_value();
        request.kind = Kind::kSetMigMode;
        request.value = *value == "1" ? 1 : 0;
    } else {
        return false;
    }
    return true;
}

/// One option of the main command; false: it is none.
Result<bool> read_option(Reader& reader, Request& request, bool& csv) {
    using Kind = Request::Kind;
    const std::string option = reader.option();
    const auto needs_value = [&option] {
        return invalid("Option '" + option + "' needs a value.");
    };
    if (reader.is("-h", "--help")) {
        request.kind = Kind::kHelp;
    } else if (option == "--version") {
        request.kind = Kind::kVersion;
    } else if (option == "--help-query-gpu") {
        request.kind = Kind::kHelpQuery;
    } else if (option == "--help-query-compute-apps") {
        request.kind = Kind::kHelpProcessQuery;
    } else if (reader.is("-x", "--xml-format")) {
        request.xml = true;
    } else if (option == "--dtd") {
        return true;
    } else if (reader.is("-f", "--filename")) {
        const auto value = reader.value();
        if (!value) return needs_value();
        request.file = *value;
    } else if (reader.is("-L", "--list-gpus")) {
        request.kind = Kind::kList;
    } else if (reader.is("-q", "--query")) {
        request.kind = Kind::kDetails;
    } else if (reader.is("-r", "--gpu-reset")) {
        request.kind = Kind::kReset;
    } else if (reader.is("-l", "--loop") || reader.is("-lms", "--loop-ms")) {
        const unsigned unit = reader.is("-lms", "--loop-ms") ? 1 : 1000;
        auto read = read_interval(reader.value(), unit, request);
        if (!read) return std::move(read).error();
    } else if (reader.is("-i", "--id")) {
        const auto value = reader.value();
        if (!value) return needs_value();
        request.gpus = list_in(*value);
    } else if (reader.is("-d", "--display")) {
        const auto value = reader.value();
        if (!value) return needs_value();
        request.sections = list_in(upper(*value));
        for (const std::string& word : request.sections) {
            if (!is_section(word)) return invalid("Display type '" + word + "' is not known.");
        }
    } else if (option == "--query-gpu" || option == "--query-compute-apps") {
        const auto value = reader.value();
        if (!value || list_in(*value).empty()) return needs_value();
        request.kind = option == "--query-gpu" ? Kind::kQueryGpu : Kind::kQueryProcesses;
        request.fields = list_in(*value);
    } else if (option == "--format") {
        const auto value = reader.value();
        if (!value) return needs_value();
        auto read = read_format(*value, request);
        if (!read) return std::move(read).error();
        csv = true;
    } else {
        return read_mode(reader, request);
    }
    return true;
}

}  // namespace

Result<Request> parse_request(const std::vector<std::string>& arguments) {
    using Kind = Request::Kind;
    if (!arguments.empty()) {
        const std::span rest(arguments.begin() + 1, arguments.end());
        if (arguments[0] == "dmon") return parse_monitor(Kind::kMonitorGpus, rest);
        if (arguments[0] == "pmon") return parse_monitor(Kind::kMonitorProcesses, rest);
        if (arguments[0] == "topo") return check_topology(rest);
        if (arguments[0] == "mig") return parse_mig_request(rest);
        if (arguments[0] == "nvlink") return parse_nvlink(rest);
    }
    Request request;
    bool csv = false;
    Reader reader(arguments);
    while (reader.next()) {
        auto known = read_option(reader, request, csv);
        if (!known) return std::move(known).error();
        if (!*known) {
            return invalid("Option '" + reader.option() +
                           "' is not known. Run 'nvidia-smi -h' for help.");
        }
    }
    const bool query = request.kind == Kind::kQueryGpu || request.kind == Kind::kQueryProcesses;
    if (request.xml && request.kind != Kind::kDetails) return invalid("-x goes with -q only.");
    if (query && !csv) return invalid("A query needs --format=csv[,noheader][,nounits].");
    return request;
}

std::string help_text() {
    return "nvidia-smi of a simulated node (Aliquot)\n"
           "\n"
           "    nvidia-smi [OPTION]...\n"
           "\n"
           "  -h, --help                 this text\n"
           "  -L, --list-gpus            one line for each GPU\n"
           "  -i, --id=ID                only these: index, UUID or PCI bus id, with commas\n"
           "  -q, --query                everything about the GPUs\n"
           "  -d, --display=SECTION      with -q: MEMORY, UTILIZATION, TEMPERATURE, POWER, CLOCK,\n"
           "                             ECC, COMPUTE, PIDS, PERFORMANCE, PAGE_RETIREMENT, "
           "ROW_REMAPPER,\n"
           "                             ENCODER_STATS, ACCOUNTING, SUPPORTED_CLOCKS\n"
           "  -x, --xml-format           with -q: as XML\n"
           "  -f, --filename=FILE        into this file\n"
           "      --version              versions of the tool, the library and the driver\n"
           "      --help-query-gpu, --help-query-compute-apps\n"
           "                             the fields of a query\n"
           "      --query-gpu=FIELDS     table of fields, one row for each GPU\n"
           "      --query-compute-apps=FIELDS\n"
           "                             table of fields, one row for each process\n"
           "      --format=csv[,noheader][,nounits]\n"
           "  -l, --loop=SECONDS         again and again\n"
           "      --loop-ms=MILLISECONDS\n"
           "  -pm, --persistence-mode=0|1\n"
           "  -c, --compute-mode=DEFAULT|EXCLUSIVE_PROCESS|PROHIBITED\n"
           "  -mig, --multi-instance-gpu=0|1\n"
           "  -r, --gpu-reset            with -i; resets idle GPUs: clears faults, applies a "
           "pending\n"
           "                             MIG mode, ends all MIG instances\n"
           "\n"
           "    nvidia-smi dmon [-s pucm] [-d SECONDS] [-c COUNT] [-i ID]\n"
           "    nvidia-smi pmon [-d SECONDS] [-c COUNT] [-i ID]\n"
           "    nvidia-smi topo -m\n"
           "    nvidia-smi nvlink -s [-i ID]\n"
           "    nvidia-smi mig -lgip|-lgipp|-lgi|-lcip|-lci [-i ID] [-gi ID]\n"
           "    nvidia-smi mig -cgi PROFILE[:START],... [-C] [-i ID]\n"
           "    nvidia-smi mig -cci [PROFILE,...] [-gi ID] [-i ID]\n"
           "    nvidia-smi mig -dgi [-gi ID] [-i ID]\n"
           "    nvidia-smi mig -dci [-gi ID] [-ci ID] [-i ID]\n";
}

}  // namespace aliquot::sim::smi
