// SPDX-License-Identifier: Apache-2.0
//
// Measures device plugins over their real socket: plays a kubelet of few words, starts the plugin,
// and asks it as often as told. Ours or any other; several are run in turns, so that what the
// machine does meanwhile hits all of them.
#include <CLI/CLI.hpp>
#include <iostream>
#include <sstream>

#include "bench_kubelet.h"
#include "bench_report.h"

namespace aliquot::bench {
namespace {

constexpr const char* kUsage =
    "Measures device plugins over their socket, several in turns (A B A B ...), and prints the\n"
    "medians over the rounds; ratios are to the first plugin.\n\n"
    "  device_plugin_bench -- PROGRAM ARGUMENT...\n"
    "  device_plugin_bench --plugin ours='PROGRAM ARGUMENT...' --plugin theirs='PROGRAM ...' \\\n"
    "                      --env theirs:NAME=VALUE --env ours:NAME=VALUE\n\n"
    "In arguments and values {socket} is the path of kubelet.sock and {directory} its directory.\n"
    "A program's words are divided at spaces; no shell reads them.\n"
    "exec_to_register: from before exec to the arrival of Register. resident: VmRSS after the\n"
    "first list and after the load. prefer_N: GetPreferredAllocation of N among all devices.";

struct Arguments {
    std::vector<std::string> plugins;
    std::vector<std::string> environment;
    std::vector<std::string> command;
    unsigned rounds = 3;
    std::string output = "table";
    Load load;
};

std::vector<std::string> words(const std::string& text) {
    std::istringstream in(text);
    return {std::istream_iterator<std::string>(in), {}};
}

Result<std::vector<Plugin>> plugins_of(const Arguments& arguments) {
    std::vector<Plugin> plugins;
    if (!arguments.command.empty()) plugins.push_back({"plugin", arguments.command, {}});
    for (const auto& text : arguments.plugins) {
        const auto equals = text.find('=');
        if (equals == std::string::npos || words(text.substr(equals + 1)).empty())
            return Error{ErrorCode::kInvalidInput,
                         "--plugin " + text + ": expected NAME=PROGRAM [ARGUMENT...]"};
        plugins.push_back({text.substr(0, equals), words(text.substr(equals + 1)), {}});
    }
    if (plugins.empty())
        return Error{ErrorCode::kInvalidInput,
                     "no plugin to measure: give --plugin NAME=PROGRAM or -- PROGRAM"};
    for (const auto& text : arguments.environment) {
        const auto colon = text.find(':');
        const auto equals = text.find('=');
        const bool shaped =
            colon != std::string::npos && equals != std::string::npos && colon < equals;
        const auto plugin =
            std::ranges::find(plugins, text.substr(0, shaped ? colon : 0), &Plugin::name);
        if (!shaped || plugin == plugins.end())
            return Error{ErrorCode::kInvalidInput,
                         "--env " + text + ": expected PLUGIN:NAME=VALUE of a named plugin"};
        plugin->environment[text.substr(colon + 1, equals - colon - 1)] = text.substr(equals + 1);
    }
    return plugins;
}

void declare(CLI::App& app, Arguments& arguments) {
    auto& load = arguments.load;
    app.add_option("--plugin", arguments.plugins, "NAME=PROGRAM [ARGUMENT...]; repeatable")
        ->allow_extra_args(false);
    app.add_option("--env", arguments.environment, "PLUGIN:NAME=VALUE; repeatable")
        ->allow_extra_args(false);
    app.add_option("command", arguments.command, "a single plugin named 'plugin', after --");
    app.add_option("--rounds", arguments.rounds, "how often each is started")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--allocations", load.allocations, "Allocate calls in a round")
        ->capture_default_str();
    app.add_option("--preferences", load.preferences, "GetPreferredAllocation calls of each size")
        ->capture_default_str();
    app.add_option("--sizes", load.sizes, "sizes of GetPreferredAllocation")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--ids", load.replicas_per_allocation, "device ids in an Allocate call")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--resource", load.resource, "measure this one; else the first that registers");
    app.add_option("--directory", load.directory, "of kubelet.sock; else a temporary one");
    app.add_option("--plugin-directory", load.plugin_directory,
                   "where plugins put their sockets, if not beside kubelet.sock");
    app.add_option("--plugin-output", load.output_path, "append what plugins print to this file");
    app.add_option("-o,--output", arguments.output, "table or json")
        ->check(CLI::IsMember({"table", "json"}));
}

int run(const Arguments& arguments) {
    const auto plugins = plugins_of(arguments);
    if (!plugins) {
        std::cerr << "device_plugin_bench: " << plugins.error().message << '\n';
        return 2;
    }
    std::vector<Measured> measured;
    for (const auto& plugin : *plugins) measured.push_back({plugin.name, {}});
    for (unsigned round = 0; round < arguments.rounds; ++round)
        for (std::size_t i = 0; i < plugins->size(); ++i) {
            auto result = measure((*plugins)[i], arguments.load);
            if (!result) {
                std::cerr << "device_plugin_bench: " << result.error().message << '\n';
                return 1;
            }
            measured[i].rounds.push_back(*std::move(result));
        }
    std::cout << (arguments.output == "json" ? to_json(measured) : to_table(measured));
    return 0;
}

}  // namespace
}  // namespace aliquot::bench

int main(int argc, char** argv) {
    CLI::App app(aliquot::bench::kUsage, "device_plugin_bench");
    aliquot::bench::Arguments arguments;
    aliquot::bench::declare(app, arguments);
    CLI11_PARSE(app, argc, argv);
    return aliquot::bench::run(arguments);
}
