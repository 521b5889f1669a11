// SPDX-License-Identifier: Apache-2.0
#include "lint/rules/evidence.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "k8s/quantity.h"
#include "k8s/resource_name.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

void walk_down(const Value& node, const std::function<void(const Value::Entry&)>& visit,
               unsigned depth) {
    constexpr unsigned kDeepestWalk = 64;
    if (depth > kDeepestWalk) return;
    for (const Value::Entry& entry : node.entries) {
        visit(entry);
        walk_down(entry.second, visit, depth + 1);
    }
    for (const Value& item : node.items) walk_down(item, visit, depth + 1);
}

std::vector<ResourceValue> amounts_in(const Value* node) {
    std::vector<ResourceValue> amounts;
    if (node == nullptr || !node->is_mapping()) return amounts;
    for (const Value::Entry& entry : node->entries) {
        ResourceValue value;
        value.name = entry.first.scalar;
        value.text = entry.second.scalar;
        value.key = &entry.first;
        value.value = &entry.second;
        value.amount = k8s::quantity_value(value.text);
        amounts.push_back(std::move(value));
    }
    return amounts;
}

const ResourceValue* find_amount(const std::vector<ResourceValue>& amounts, std::string_view name) {
    const auto at = std::find_if(amounts.begin(), amounts.end(),
                                 [name](const ResourceValue& one) { return one.name == name; });
    return at == amounts.end() ? nullptr : &*at;
}

void read_strategy(const Value& node, std::string_view path, std::vector<MigStrategy>& found) {
    const Value* value = at_path(node, path);
    if (value == nullptr || value->scalar.empty()) return;
    found.push_back({value->scalar, value->mark});
}

void read_pod_strategies(const PodSpec& pod, std::vector<MigStrategy>& found) {
    constexpr std::string_view kFlag = "--mig-strategy";
    for (const Container& container : pod.containers) {
        const EnvVar* variable = container.find_env("MIG_STRATEGY");
        if (variable != nullptr && variable->value_node != nullptr) {
            found.push_back({variable->value, variable->value_node->mark});
        }
        for (std::size_t i = 0; i < container.command.size(); ++i) {
            const std::string& word = container.command[i];
            if (!word.starts_with(kFlag) || container.node == nullptr) continue;
            if (word.size() > kFlag.size() + 1) {
                found.push_back({word.substr(kFlag.size() + 1), container.node->mark});
            } else if (i + 1 < container.command.size()) {
                found.push_back({container.command[i + 1], container.node->mark});
            }
        }
    }
}

}  // namespace

std::string ChartInstall::value(std::string_view path) const {
    std::string found;
    for (const auto& [key, given] : sets) {
        if (key == path) found = given.text;
    }
    return found;
}

bool ChartInstall::sets_any(std::string_view prefix) const {
    return std::any_of(sets.begin(), sets.end(),
                       [prefix](const auto& one) { return one.first.starts_with(prefix); });
}

namespace {

/// "a.b=c,d.e=f" of --set; a comma in braces does not part.
void read_sets(const Word& word, std::vector<std::pair<std::string, Word>>& sets) {
    const std::string& text = word.text;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        const char c = i < text.size() ? text[i] : ',';
        if (c == '{') ++depth;
        if (c == '}') --depth;
        if (c != ',' || (depth > 0 && i < text.size())) continue;
        const std::string pair = text.substr(begin, i - begin);
        begin = i + 1;
        const auto equals = pair.find('=');
        if (equals == std::string::npos || equals == 0) continue;
        Word value = word;
        value.text = pair.substr(equals + 1);
        sets.emplace_back(pair.substr(0, equals), std::move(value));
    }
}

std::map<std::string, std::string> repositories(const File& file) {
    std::map<std::string, std::string> urls;
    for (const Command& command : file.commands) {
        if (!command.is("helm", "repo") && !command.is("helm3", "repo")) continue;
        const auto words = command.positionals();
        if (words.size() >= 4 && words[1]->text == "add") urls[words[2]->text] = words[3]->text;
    }
    return urls;
}

ChartInstall read_install(const Command& command, const Word& chart,
                          const std::map<std::string, std::string>& urls) {
    ChartInstall install;
    install.command = &command;
    install.word = &chart;
    std::string name = chart.text;
    while (name.ends_with("/")) name.pop_back();
    const auto slash = name.rfind('/');
    install.chart = slash == std::string::npos ? name : name.substr(slash + 1);
    install.local = name.starts_with(".") || name.starts_with("/") || name.ends_with(".tgz") ||
                    name.starts_with("deployments/") || name.starts_with("charts/");
    if (install.local && name.ends_with(".tgz")) {
        const auto dash = install.chart.find("-v");
        install.chart = install.chart.substr(0, dash);
        install.version = "archive";
    }
    const bool url = name.find("://") != std::string::npos;
    if (url) install.source = name.substr(0, slash);
    if (!url && !install.local && slash != std::string::npos && name.find('/') == slash) {
        install.alias = name.substr(0, slash);
        const auto at = urls.find(install.alias);
        if (at != urls.end()) install.source = at->second;
    }
    if (const auto repository = command.value("--repo")) install.source = *repository;
    if (const auto version = command.value("--version")) install.version = *version;
    for (const std::string_view flag : {"--namespace", "-n"}) {
        if (const auto name_space = command.value(flag)) install.name_space = *name_space;
    }
    for (const std::string_view flag : {"-f", "--values"}) {
        if (command.flag(flag) != nullptr) install.values_file = true;
    }
    for (const std::string_view flag : {"--set", "--set-string", "--set-json", "--set-file"}) {
        for (const Word& word : command.values(flag)) read_sets(word, install.sets);
    }
    return install;
}

}  // namespace

namespace {

/// Charts of other makers of GPUs, and of forks in registries of their own, have the names of NVIDIA's.
bool is_of_another_maker(const ChartInstall& install) {
    if (install.source.starts_with("oci://") && !contains(install.source, "nvidia")) return true;
    return install.alias == "rocm" || install.alias == "amd" || install.alias == "intel" ||
           contains(install.source, "rocm.github.io") || contains(install.source, "amd.com") ||
           contains(install.source, "intel.github.io");
}

}  // namespace

std::vector<ChartInstall> chart_installs(const File& file) {
    std::vector<ChartInstall> installs;
    if (!file.mentions("helm")) return installs;
    const auto urls = repositories(file);
    for (const Command& command : file.commands) {
        if ((!command.is("helm") && !command.is("helm3")) || command.shown) continue;
        const auto words = command.positionals();
        if (words.empty()) continue;
        const std::string& verb = words.front()->text;
        if (verb != "install" && verb != "upgrade") continue;
        if (words.size() < (verb == "upgrade" ? 3U : 2U)) continue;  // the release alone
        const bool more = words.back()->text.starts_with('$') && words.size() > 2 &&
                          contains((*(words.end() - 2))->text, "/");
        const Word& chart = more ? **(words.end() - 2) : *words.back();  // chart $HELM_OPTIONS
        ChartInstall install = read_install(command, chart, urls);
        install.options = more;
        if (!is_of_another_maker(install)) installs.push_back(std::move(install));
    }
    return installs;
}

bool is_gpu_chart(std::string_view chart) {
    return chart == "gpu-operator" || chart == "nvidia-device-plugin" || chart == "dcgm-exporter" ||
           chart == "gpu-feature-discovery" || chart == "nvidia-dra-driver-gpu";
}

bool installs_operator(const File& file) {
    const auto installs = chart_installs(file);
    if (std::any_of(installs.begin(), installs.end(),
                    [](const ChartInstall& one) { return one.chart == "gpu-operator"; })) {
        return true;
    }
    return std::any_of(file.commands.begin(), file.commands.end(), [](const Command& command) {
        return (command.wrapper == "microk8s" || command.is("microk8s")) &&
               (command.text.find("enable gpu") != std::string::npos ||
                command.text.find("enable nvidia") != std::string::npos);
    });
}

std::vector<MigStrategy> mig_strategies(const File& file) {
    std::vector<MigStrategy> found;
    if (!file.mentions("strategy")) return found;
    for (const Object& object : file.objects) {
        if (object.role == Role::kDevicePluginConfig) {
            read_strategy(*object.node, "flags.migStrategy", found);
        } else if (object.role == Role::kHelmValues) {
            read_strategy(*object.node, "mig.strategy", found);
            if (object.chart == "nvidia-device-plugin") {
                read_strategy(*object.node, "migStrategy", found);
            }
        } else if (object.kind == "ClusterPolicy") {
            read_strategy(*object.node, "spec.mig.strategy", found);
        }
    }
    for (const ChartInstall& install : chart_installs(file)) {
        for (const auto& [path, word] : install.sets) {
            if (path == "mig.strategy" || path == "migStrategy") {
                found.push_back({word.text, word.mark});
            }
        }
    }
    for (const PodSpec& pod : file.pods) read_pod_strategies(pod, found);
    return found;
}

const ResourceValue* ResourceBlock::gpu() const {
    for (const auto* list : {&limits, &requests}) {
        for (const ResourceValue& value : *list) {
            if (k8s::is_gpu_resource(value.name)) return &value;
        }
    }
    return nullptr;
}

const ResourceValue* ResourceBlock::need(std::string_view resource) const {
    const ResourceValue* value = find_amount(requests, resource);
    return value != nullptr ? value : find_amount(limits, resource);
}

std::vector<ResourceBlock> loose_resources(const File& file) {
    std::vector<ResourceBlock> blocks;
    std::vector<const Value*> known;
    for (const PodSpec& pod : file.pods) {
        for (const Container& container : pod.containers) {
            known.push_back(container.resources);
            known.push_back(container.node);
        }
    }
    std::sort(known.begin(), known.end());
    for (std::size_t i = 0; i < file.objects.size(); ++i) {
        const Object& object = file.objects[i];
        if (object.role != Role::kHelmValues && object.role != Role::kFragment &&
            object.role != Role::kNothing) {
            continue;
        }
        walk(*object.node, [&](const Value::Entry& entry) {
            const Value& node = entry.second;
            if (!node.is_mapping()) return;
            if (node.find("limits") == nullptr && node.find("requests") == nullptr) return;
            if (std::binary_search(known.begin(), known.end(), &node)) return;
            ResourceBlock block;
            block.object = static_cast<int>(i);
            block.key = entry.first.scalar;
            block.node = &node;
            block.requests = amounts_in(node.find("requests"));
            block.limits = amounts_in(node.find("limits"));
            blocks.push_back(std::move(block));
        });
    }
    return blocks;
}

void walk(const Value& node, const std::function<void(const Value::Entry&)>& visit) {
    walk_down(node, visit, 0);
}

std::size_t written_length(const File& file, const Value& scalar) {
    const std::size_t begin = file.offset(scalar.mark);
    if (begin >= file.original.size()) return 0;
    const char first = file.original[begin];
    if (!scalar.quoted) {
        return file.original.compare(begin, scalar.scalar.size(), scalar.scalar) == 0
                   ? scalar.scalar.size()
                   : 0;
    }
    if (first != '"' && first != '\'') return 0;
    const auto end = file.original.find(first, begin + 1);
    const auto line_end = file.original.find('\n', begin);
    if (end == std::string::npos || end > line_end) return 0;
    return end + 1 - begin;
}

bool begins_line(const File& file, Mark mark) {
    const std::string_view line = file.line(mark.line);
    if (mark.column == 0 || mark.column - 1 > line.size()) return false;
    return trim(line.substr(0, mark.column - 1)).empty();
}

double pod_amount(const PodSpec& pod, std::string_view resource) {
    double sum = 0;
    double init = 0;
    for (const Container& container : pod.containers) {
        const ResourceValue* value = container.find_request(resource);
        if (value == nullptr) value = container.find_limit(resource);
        if (value == nullptr || !value->amount) continue;
        if (container.init && !container.sidecar) {
            init = std::max(init, *value->amount);
        } else {
            sum += *value->amount;
        }
    }
    return std::max(sum, init);
}

GpuNeed gpu_need(const PodSpec& pod) {
    GpuNeed need;
    for (const Container& container : pod.containers) {
        const ResourceValue* value = container.gpu();
        if (value == nullptr) continue;
        if (value->amount && *value->amount == 0) continue;
        if (need.value == nullptr) {
            need.value = value;
            need.container = &container;
        }
    }
    if (need.value != nullptr) need.amount = pod_amount(pod, need.value->name);
    return need;
}

bool about_gpus(const File& file) {
    return file.mentions("nvidia") || file.mentions("gpu") || file.mentions("cuda") ||
           file.mentions("vllm/vllm-openai");
}

std::string number_text(double value) {
    if (std::abs(value - std::round(value)) < 1e-9 && std::abs(value) < 1e15) {
        return std::to_string(static_cast<long long>(std::llround(value)));
    }
    std::string text = std::to_string(value);
    while (text.ends_with("0")) text.pop_back();
    return text;
}

}  // namespace aliquot::lint
