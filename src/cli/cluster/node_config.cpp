// SPDX-License-Identifier: Apache-2.0
// aliquot node config: which sharing configuration a node serves.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/json_value.h"
#include "base/nearest_word.h"
#include "base/sentence.h"
#include "cli/answer.h"
#include "cli/cluster/node_command.h"
#include "cli/cluster/node_config_wait.h"
#include "cli/files/config_command.h"
#include "cli/rows.h"
#include "command_line/command.h"
#include "findings/finding.h"
#include "node/names.h"
#include "sharing/config_file.h"

namespace aliquot::cli {
namespace {

constexpr std::size_t kMostKeyBytes = 63;  // it becomes the value of a label

struct NodeConfigOptions {
    ClusterOptions cluster;
    std::string config_map = "aliquot-config";
    NodeChoice choice;
    std::vector<std::string> given;
    std::string key;
    std::string file;
    std::string format = "table";
    unsigned timeout_seconds = 60;
    bool clear = false;
    bool wait = false;
    bool dry_run = false;
};

kube_client::ObjectKey map_key(const NodeConfigOptions& words) {
    const std::string& space = words.cluster.namespace_name;
    return {space.empty() ? "aliquot-system" : space, words.config_map};
}

std::string map_name(const NodeConfigOptions& words) {
    return "ConfigMap " + to_text(map_key(words));
}

struct Map {
    std::map<std::string, std::string> data;
    std::string resource_version;  // empty: there is none
};

/// Empty: it was said why it cannot be read. A ConfigMap that is not there has no keys.
std::optional<Map> read_map(Context& context, kube_client::Api& api,
                            const NodeConfigOptions& words) {
    auto object =
        api.get(kube_client::resources::config_maps(), map_key(words), call_of(words.cluster));
    if (!object && object.failure().is(kube_client::Reason::kNotFound)) return Map{};
    if (!object) {
        fail(context, object.failure());
        return std::nullopt;
    }
    Map map{.resource_version = object->resource_version};
    const auto json = parse_json<nlohmann::json>(object->json);
    const auto data = json.find("data");
    if (data == json.end() || !data->is_object()) return map;
    for (const auto& [key, text] : data->items()) {
        if (text.is_string()) map.data[key] = text.get<std::string>();
    }
    return map;
}

/// Prints what is wrong with a configuration. False: it has errors.
bool is_good(Context& context, const std::string& name, const std::string& text) {
    const auto checked = sharing::check_config_file(name, text, sharing::Compatibility::kStrict);
    findings::print_text(context.err, checked.findings, context.colour);
    if (!findings::has_errors(checked.findings)) return true;
    fail(context, kFindings, name + " has errors: nothing was changed");
    return false;
}

std::string keys_text(const Map& map) {
    std::string text = listed(map.data, [](const auto& entry) { return entry.first; });
    return text.empty() ? "none" : text;
}

/// The configuration exists and is good; else it was said what is wrong.
bool can_serve(Context& context, kube_client::Api& api, const NodeConfigOptions& words) {
    const auto map = read_map(context, api, words);
    if (!map) return false;
    const auto found = map->data.find(words.key);
    if (found != map->data.end()) {
        return is_good(context, words.config_map + "/" + words.key, found->second);
    }
    std::vector<std::string_view> known;
    for (const auto& [key, text] : map->data) known.push_back(key);
    const auto near = nearest_word(words.key, known);
    fail(context, kUsage,
         map_name(words) + " has no key '" + words.key + "'" +
             (near.empty() ? "; its keys: " + keys_text(*map)
                           : ", did you mean '" + std::string(near) + "'?") +
             (map->data.empty() ? "; aliquot node config put KEY FILE makes one" : ""));
    return false;
}

void set(Context& context, NodeConfigOptions& words) {
    words.choice.names = words.given;
    if (!words.clear) {
        if (words.given.empty()) {
            return fail(context, kUsage, "which configuration? expected KEY, or --clear");
        }
        words.key = words.given.back();
        words.choice.names.pop_back();
    }
    const auto connection = connect_cluster(context, words.cluster);
    if (!connection) return;
    kube_client::Api& api = *connection->api;
    if (!words.clear && !can_serve(context, api, words)) return;
    const auto chosen = choose_nodes(context, api, words.cluster, words.choice);
    if (!chosen) return;
    LabelChange change{.force = true, .dry_run = words.dry_run};
    if (words.clear) {
        change.remove.emplace_back(node::kConfigLabel);
    } else {
        change.set[node::kConfigLabel] = words.key;
    }
    std::vector<ConfigWait> waits;
    for (const node::GpuNode& node : chosen->nodes) {
        const auto outcome = change_labels(api, words.cluster, node.name(), change);
        if (!outcome) return fail(context, outcome.failure());
        if (!outcome->foreign.empty()) {  // a person asks for this very label to go
            const nlohmann::json body{{"metadata", {{"labels", {{node::kConfigLabel, nullptr}}}}}};
            const auto gone =
                api.patch(kube_client::resources::nodes(), {"", node.name()}, dumped(body),
                          {.kind = kube_client::PatchKind::kMerge,
                           .write = {.dry_run = words.dry_run, .call = call_of(words.cluster)}});
            if (!gone) return fail(context, gone.failure());
        }
        context.out << "node/" << node.name()
                    << (words.clear
                            ? " cleared"
                            : (outcome->changed ? " configured: " : " unchanged: ") + words.key)
                    << (words.dry_run ? " (dry run)" : "") << '\n';
        waits.push_back({.node = node.name(), .key = words.key, .before = node.config});
    }
    context.out.flush();
    if (words.wait && !words.dry_run) {
        wait_until_served(context, api, words.cluster, waits,
                          std::chrono::seconds(words.timeout_seconds));
    }
}

void list(Context& context, const NodeConfigOptions& words) {
    const auto connection = connect_cluster(context, words.cluster);
    if (!connection) return;
    const auto map = read_map(context, *connection->api, words);
    if (!map) return;
    const auto nodes = read_nodes(context, *connection->api, words.cluster, "");
    if (!nodes) return;
    std::vector<Row> rows{{"KEY", "CONFIGURATION", "NODES"}};
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const auto& [key, text] : map->data) {
        const auto checked = sharing::check_config_file(key, text, sharing::Compatibility::kStrict);
        const bool good = !findings::has_errors(checked.findings) && !checked.configs.empty();
        const std::string summary = good ? sharing::summary(checked.configs.front().config)
                                         : "has errors: aliquot config check tells them";
        std::string users;
        nlohmann::ordered_json names = nlohmann::ordered_json::array();
        for (const node::GpuNode& node : nodes->nodes) {
            const bool asked = node.object.label(node::kConfigLabel) == key;
            const bool served = node.config && node.config->key == key && node.config->served;
            if (!asked && !served) continue;
            users += (users.empty() ? "" : ", ") + node.name() + (served ? "" : " (not served)");
            names.push_back({{"node", node.name()}, {"label", asked}, {"served", served}});
        }
        rows.push_back({key, summary, users});
        list.push_back({{"key", key}, {"good", good}, {"summary", summary}, {"nodes", names}});
    }
    if (words.format != "table") {
        print_answer(context.out, "NodeConfigList",
                     nlohmann::ordered_json{{"configMap", to_text(map_key(words))},
                                            {"exists", !map->resource_version.empty()},
                                            {"keys", list}},
                     words.format);
    } else if (map->data.empty()) {
        context.err << "aliquot: " << map_name(words)
                    << (map->resource_version.empty() ? " does not exist" : " has no keys")
                    << ": every node offers whole GPUs; aliquot node config put KEY FILE\n";
    } else {
        print_rows(context.out, rows);
    }
}

/// Compare and set: what others wrote meanwhile is read again, never written over.
kube_client::Outcome<Done> write_key(Context& context, kube_client::Api& api,
                                     const NodeConfigOptions& words, const std::string& text,
                                     std::string& what) {
    constexpr unsigned kMostTries = 5;
    for (unsigned tries = 1;; ++tries) {
        const auto map = read_map(context, api, words);
        if (!map) return kube_client::Failure{.reason = kube_client::Reason::kStopped};
        const kube_client::WriteOptions write{.dry_run = words.dry_run,
                                              .call = call_of(words.cluster)};
        const nlohmann::json data{{words.key, text}};
        const auto found = map->data.find(words.key);
        if (found != map->data.end() && found->second == text) {
            what = "unchanged";
            return Done{};
        }
        what = found == map->data.end() ? "added" : "changed";
        kube_client::Outcome<kube_client::Object> written = kube_client::Failure{};
        if (map->resource_version.empty()) {
            const nlohmann::json body{{"apiVersion", "v1"},
                                      {"kind", "ConfigMap"},
                                      {"metadata",
                                       {{"name", words.config_map},
                                        {"labels",
                                         {{"app.kubernetes.io/name", "aliquot"},
                                          {"app.kubernetes.io/managed-by", "aliquot"}}}}},
                                      {"data", data}};
            written = api.create(kube_client::resources::config_maps(),
                                 map_key(words).namespace_name, dumped(body), write);
        } else {
            const nlohmann::json body{{"metadata", {{"resourceVersion", map->resource_version}}},
                                      {"data", data}};
            written = api.patch(kube_client::resources::config_maps(), map_key(words), dumped(body),
                                {.kind = kube_client::PatchKind::kMerge, .write = write});
        }
        if (written) return Done{};
        const bool again = written.failure().is(kube_client::Reason::kConflict) ||
                           written.failure().is(kube_client::Reason::kAlreadyExists);
        if (!again || tries == kMostTries) return std::move(written).failure();
    }
}

void put(Context& context, const NodeConfigOptions& words) {
    const auto input = read_input(words.file);
    if (!input) return fail(context, kUsage, input.error().message);
    const auto is_key = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_' || c == '.';
    };
    if (words.key.empty() || words.key.size() > kMostKeyBytes ||
        !std::ranges::all_of(words.key, is_key)) {
        return fail(context, kUsage,
                    "'" + words.key +
                        "' is not a valid label value; expected at most 63 letters, digits, "
                        "'-', '_' and '.'");
    }
    const auto checked =
        sharing::check_config_file(input->name, input->text, sharing::Compatibility::kStrict);
    if (!checked.configs.empty() && !checked.configs.front().where.empty()) {
        return fail(context, kUsage,
                    input->name + " holds " + checked.configs.front().where +
                        "; expected the configuration itself (version: v1 ...)");
    }
    if (!is_good(context, input->name, input->text)) return;
    const auto connection = connect_cluster(context, words.cluster);
    if (!connection) return;
    std::string what;
    const auto done = write_key(context, *connection->api, words, input->text, what);
    if (!done) {
        if (context.exit_code == kOk) fail(context, done.failure());
        return;
    }
    context.out << "key " << words.key << " of " << map_name(words) << " " << what
                << (words.dry_run && what != "unchanged" ? " (dry run)" : "") << ": "
                << (checked.configs.empty() ? "" : sharing::summary(checked.configs.front().config))
                << '\n';
}

void add_map_flags(command_line::Command& command, NodeConfigOptions& words) {
    add_cluster_flags(command, words.cluster);
    add_namespace_flag(command, words.cluster,
                       "Namespace of the ConfigMap; default aliquot-system");
    command.add_option("--config-map", words.config_map,
                       "Name of the ConfigMap; default aliquot-config", "NAME");
}

void add_set(command_line::Command& config, Context& context) {
    command_line::Command* command = config.add_subcommand(
        "set",
        "Select the configuration that nodes serve, or none of their own (--clear)\n\n"
        "First checks that the key exists and is valid. Then sets the label\n"
        "nvidia.com/device-plugin.config, which the agent of the node follows.");
    command->footer(
        "aliquot node config set gpu-1 gpu-2 quarters --wait\n"
        "aliquot node config set -l nvidia.com/gpu.product=NVIDIA-A2 a2\n"
        "aliquot node config set --all whole\n"
        "aliquot node config set gpu-1 --clear");
    auto words = std::make_shared<NodeConfigOptions>();
    command->add_option("NODE... KEY", words->given, "Nodes, then the key of the ConfigMap", "...")
        ->complete_by("nodes");
    command->add_option("-l,--selector", words->choice.selector, "GPU nodes with these labels",
                        "SELECTOR");
    command->add_flag("--all", words->choice.all, "All nodes with GPUs");
    command->add_flag("--clear", words->clear, "Remove the label");
    command->add_flag("--wait", words->wait, "Wait until the agents report that it is served");
    command
        ->add_option("--timeout", words->timeout_seconds, "With --wait: timeout in seconds",
                     "SECONDS (1 to 3600)")
        ->range(1, 3600);
    command->add_flag("--dry-run", words->dry_run,
                      "Let the API server validate it without changing anything");
    add_map_flags(*command, *words);
    command->callback([words, &context] { set(context, *words); });
}

}  // namespace

void add_node_config(command_line::Command& node, Context& context) {
    command_line::Command* config =
        node.add_subcommand("config", "Manage which sharing configuration a node serves");
    config->require_subcommand(1);
    config->footer(
        "aliquot node config list\n"
        "aliquot node config put quarters sharing.yaml\n"
        "aliquot node config set gpu-1 quarters --wait");
    add_set(*config, context);

    command_line::Command* all = config->add_subcommand(
        "list", "List the keys of the ConfigMap, what they mean and which nodes serve them");
    all->footer("aliquot node config list\naliquot node config list -o json");
    auto listed = std::make_shared<NodeConfigOptions>();
    add_output(*all, listed->format);
    add_map_flags(*all, *listed);
    all->callback([listed, &context] { list(context, *listed); });

    command_line::Command* one = config->add_subcommand(
        "put", "Check a configuration and write it into the ConfigMap under a key");
    one->footer(
        "aliquot node config put quarters sharing.yaml\n"
        "aliquot node config put quarters - --dry-run < sharing.yaml");
    auto written = std::make_shared<NodeConfigOptions>();
    one->add_option("KEY", written->key, "What nodes name it by", " ")->required();
    one->add_option("FILE", written->file, "The configuration; - is the standard input", " ")
        ->required();
    one->add_flag("--dry-run", written->dry_run,
                  "Let the API server validate it without changing anything");
    add_map_flags(*one, *written);
    one->callback([written, &context] { put(context, *written); });
}

}  // namespace aliquot::cli
