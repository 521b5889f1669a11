// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "base/json_value.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/host/agent_page.h"
#include "cli/rows.h"
#include "command_line/command.h"
#include "guard_region/config_reader.h"
#include "guard_region/ledger_file.h"
#include "guard_region/runs.h"
#include "guard_region/status.h"
#include "guard_region/status_json.h"
#include "k8s/memory_amount.h"
#include "os/spawner.h"

namespace aliquot::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct GuardOptions {
    std::string agent;
    std::string region;
    std::string format = "table";
};

/// Containers to show, and events where an agent watches.
struct View {
    Json containers = Json::array();
    Json events = Json::array();
    std::string remark;  // what goes before the table
};

/// One region by its files. Without a config the limits are not known.
/// place   its directory, or the ledger itself
Result<Json> from_files(const fs::path& place, const std::string& name) {
    std::error_code problem;
    const bool directory = fs::is_directory(place, problem);
    const fs::path file = directory ? place / abi::kLedgerFile : place;
    const auto opened = guard_region::LedgerFile::open(file);
    if (!opened) return opened.error();
    auto ledger = opened->read();
    const auto config = guard_region::read_config(file.parent_path() / abi::kConfigFile);
    guard_region::Settings settings;
    if (config) settings = *config;
    guard_region::Reading reading;
    if (ledger) {
        if (!config) settings.devices = guard_region::devices_in(*ledger);
        guard_region::apply_truth(file.parent_path() / abi::kConfigFile, *ledger);
        reading.ledger = *std::move(ledger);
    } else {
        if (!config) return std::move(ledger).error();
        reading.problem = ledger.error().message;
    }
    guard_region::Record record{.holder = settings.container.empty() ? name : settings.container};
    return guard_region::to_json(guard_region::make_status(record, settings, reading));
}

Result<View> regions_of_agent(const std::string& address) {
    auto page = ask_agent(address, "/status");
    if (!page) return std::move(page).error();
    const Json status = parse_json<Json>(*page);
    if (status.is_discarded() || !status.is_object() || !status.contains("guard")) {
        return Error{ErrorCode::kUnavailable,
                     "node agent at " + address + ": its /status is not of this version"};
    }
    View view;
    const Json& guard = status["guard"];
    if (!guard.is_object()) return view;
    view.containers = guard.value("containers", Json::array());
    view.events = guard.value("events", Json::array());
    view.remark = guard.value("problem", "");
    return view;
}

/// `aliquot run` of this user.
Result<View> from_runs() {
    const auto place = guard_region::Runs::usual_place(os::current_environment());
    if (!place) return place.error();
    View view;
    for (const guard_region::Run& run : guard_region::Runs(*place).list()) {
        auto one = from_files(run.directory, run.name);
        if (one) view.containers.push_back(*std::move(one));
    }
    return view;
}

/// What this node's agent watches and, after it, this user's runs, of which an agent does not know.
Result<View> agent_and_runs() {
    auto seen = regions_of_agent(usual_agent());
    if (!seen && seen.error().code == ErrorCode::kInvalidInput) {
        return std::move(seen).error().during("ALIQUOT_AGENT");
    }
    auto runs = from_runs();
    if (!seen && seen.error().code == ErrorCode::kNotFound) return runs;
    if (!runs || runs->containers.empty()) return seen;
    if (!seen) {  // there is one, but it does not answer us
        runs->remark = seen.error().message;
        return runs;
    }
    for (Json& run : runs->containers) seen->containers.push_back(std::move(run));
    return seen;
}

/// What was named, else the container that we are in, else all that is known of this machine.
Result<View> look(const GuardOptions& words) {
    const auto single = [](Result<Json> one) -> Result<View> {
        if (!one) return std::move(one).error();
        View view;
        view.containers.push_back(*std::move(one));
        return view;
    };
    if (!words.region.empty()) return single(from_files(words.region, ""));
    if (!words.agent.empty()) return regions_of_agent(words.agent);
    const fs::path here(abi::kGuardDirectory);
    std::error_code problem;
    if (fs::exists(here / abi::kConfigFile, problem))
        return single(from_files(here, "this container"));
    return agent_and_runs();
}

std::string bytes_of(const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number_unsigned()) return "";
    return k8s::bytes_text(found->get<std::uint64_t>());
}

std::string number_of(const Json& object, const char* key, const char* unit) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number()) return "";
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%.4g%s", found->get<double>(), unit);
    return text.data();
}

std::string name_of(const Json& container) {
    const std::string pod = cell_of(container, "pod");
    const std::string name = cell_of(container, "container");
    if (pod.empty()) return name.empty() ? cell_of(container, "region").substr(0, 12) : name;
    return cell_of(container, "namespace") + "/" + pod + "/" + name;
}

std::string share_of(const Json& device) {
    std::string cap = number_of(device, "capPercent", " %");
    const std::string weight = cell_of(device, "weight");
    if (weight.empty()) return cap;
    return (cap.empty() ? "" : cap + ", ") + "weight " + weight;
}

void print_notes(std::ostream& out, const View& view) {
    for (const Json& container : view.containers) {
        const std::string problem = cell_of(container, "problem");
        if (!problem.empty()) out << name_of(container) << ": " << problem << '\n';
        for (const Json& device : container.value("devices", Json::array())) {
            for (const Json& remark : device.value("remarks", Json::array())) {
                const std::string text = remark.is_string() ? remark.get<std::string>() : "";
                out << name_of(container) << ": " << text << ": " << guard_region::meaning_of(text)
                    << '\n';
            }
        }
    }
    for (const Json& event : view.events) {
        out << "event " << cell_of(event, "kind") << ": " << cell_of(event, "container") << ": "
            << cell_of(event, "message") << '\n';
    }
}

void print_table(Context& context, const View& view) {
    if (!view.remark.empty()) context.out << view.remark << "\n\n";
    if (view.containers.empty()) {
        context.out << "no container has a guard\n";
        return print_notes(context.out, view);
    }
    std::vector<Row> rows{{"CONTAINER", "GPU", "LIMIT", "USED", "OVERHEAD", "PEAK", "DENIED",
                           "SHARE", "GPU TIME", "HELD BACK", "PROCESSES", "UNGUARDED"}};
    for (const Json& container : view.containers) {
        for (const Json& device : container.value("devices", Json::array())) {
            constexpr std::size_t kShort = 12;  // "GPU-8a6b0c1d"
            rows.push_back({name_of(container), cell_of(device, "uuid").substr(0, kShort),
                            bytes_of(device, "memoryLimitBytes"), bytes_of(device, "usedBytes"),
                            bytes_of(device, "overheadBytes"), bytes_of(device, "peakBytes"),
                            cell_of(device, "denied"), share_of(device),
                            number_of(device, "gpuSeconds", " s"),
                            number_of(device, "throttledSeconds", " s"),
                            cell_of(device, "processes"), cell_of(device, "unguardedProcesses")});
        }
    }
    print_rows(context.out, rows);
    print_notes(context.out, view);
}

void status(Context& context, const GuardOptions& words) {
    const auto view = look(words);
    if (!view) {
        const bool wrong_word = view.error().code == ErrorCode::kInvalidInput;
        return fail(context, wrong_word ? kUsage : kCouldNotRun, view.error().message);
    }
    const bool trouble = std::ranges::any_of(view->containers, [](const Json& container) {
        const Json devices = container.value("devices", Json::array());
        return !cell_of(container, "problem").empty() ||
               std::ranges::any_of(devices, [](const Json& device) {
                   return device.value("unguardedProcesses", 0) > 0;
               });
    });
    context.exit_code = trouble ? kFindings : kOk;
    if (words.format == "table") return print_table(context, *view);
    print_answer(context.out, "GuardStatus",
                 Json{{"containers", view->containers}, {"events", view->events}}, words.format);
}

}  // namespace

void add_guard_command(command_line::Command& program, Context& context) {
    command_line::Command* guard =
        program.add_subcommand("guard", "Show the GPU use of containers with limits");
    guard->require_subcommand(1);
    guard->footer("aliquot guard status");
    command_line::Command* command = guard->add_subcommand(
        "status", "Show limit, use, denied requests and GPU time of each container");
    const auto words = std::make_shared<GuardOptions>();
    command_line::Option* agent = command->add_option(
        "--agent", words->agent,
        "Ask the node agent there; default: the container that this runs in, else "
        "the agent of this node (ALIQUOT_AGENT names another one) "
        "and the runs of this user",
        "ADDRESS");
    command
        ->add_option("--region", words->region,
                     "Read only this region: its directory, or its ledger", "DIR|FILE")
        ->excludes(agent);
    add_output(*command, words->format);
    command->footer(
        "aliquot guard status\n"
        "aliquot guard status -o json\n"
        "aliquot guard status --region /run/aliquot/guard   # of one container");
    command->callback([words, &context] { status(context, *words); });
}

}  // namespace aliquot::cli
