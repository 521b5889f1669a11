// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/environment.h"

#include <optional>

namespace aliquot::sim::cluster {
namespace {

/// "metadata.labels['app']" with the prefix "metadata.labels": "app".
std::optional<std::string> subscript(std::string_view field, std::string_view prefix) {
    if (!field.starts_with(prefix)) return std::nullopt;
    field.remove_prefix(prefix.size());
    if (!field.starts_with("['") || !field.ends_with("']") || field.size() < 5) return std::nullopt;
    return std::string(field.substr(2, field.size() - 4));
}

std::optional<std::string> field_value(const std::string& field, const PodIdentity& pod) {
    if (field == "metadata.name") return pod.name;
    if (field == "metadata.namespace") return pod.pod_namespace;
    if (field == "metadata.uid") return pod.uid;
    if (field == "spec.nodeName") return pod.node;
    if (field == "status.podIP" || field == "status.hostIP") return "127.0.0.1";
    const auto label = subscript(field, "metadata.labels");
    if (!label) return std::nullopt;
    const auto found = pod.labels.find(*label);
    return found == pod.labels.end() ? std::string() : found->second;
}

}  // namespace

std::string expand(std::string_view text, const Environment& variables) {
    std::string result;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '$' || at + 1 == text.size()) {
            result += text[at];
            continue;
        }
        if (text[at + 1] == '$') {
            result += '$';
            ++at;
            continue;
        }
        const std::size_t close = text[at + 1] == '(' ? text.find(')', at) : std::string_view::npos;
        if (close == std::string_view::npos) {
            result += text[at];
            continue;
        }
        const std::string_view reference = text.substr(at, close - at + 1);
        const auto found = variables.find(std::string(reference.substr(2, reference.size() - 3)));
        result += found == variables.end() ? std::string(reference) : found->second;
        at = close;
    }
    return result;
}

Environment container_environment(const std::map<std::string, std::string>& granted,
                                  const std::vector<Variable>& variables, const PodIdentity& pod) {
    Environment environment = granted;
    for (const Variable& variable : variables) {
        if (variable.source == Variable::Source::kValue) {
            environment[variable.name] = expand(variable.text, environment);
        } else if (variable.source == Variable::Source::kLiteral) {
            environment[variable.name] = variable.text;
        } else if (const auto value = field_value(variable.text, pod)) {
            environment[variable.name] = *value;
        }
    }
    return environment;
}

std::vector<std::string> container_argv(const Container& container, const Environment& variables) {
    std::vector<std::string> argv;
    if (container.command.empty()) return argv;
    for (const std::string& word : container.command) argv.push_back(expand(word, variables));
    for (const std::string& word : container.args) argv.push_back(expand(word, variables));
    return argv;
}

}  // namespace aliquot::sim::cluster
