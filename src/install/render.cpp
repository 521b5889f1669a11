// SPDX-License-Identifier: Apache-2.0
#include "install/render.h"

#include <array>
#include <stdexcept>

#include "document/json.h"
#include "document/path.h"
#include "document/write.h"
#include "document/yaml.h"
#include "install/embedded.h"
#include "install/meaning.h"

namespace aliquot::install {
namespace {

using document::Value;

/// The parts of a text between lines "---".
std::vector<std::string_view> parts_of(std::string_view text) {
    std::vector<std::string_view> parts;
    std::size_t begin = 0;
    for (std::size_t line = 0; line < text.size();) {
        const auto end = text.find('\n', line);
        const auto next = end == std::string_view::npos ? text.size() : end + 1;
        if (text.substr(line, next - line) == "---\n") {
            parts.push_back(text.substr(begin, line - begin));
            begin = next;
        }
        line = next;
    }
    parts.push_back(text.substr(begin));
    return parts;
}

/// The rule's text has no namespace, so that it can be applied anywhere by hand.
std::string prometheus_rule() {
    std::string text(kPrometheusRuleText);
    const std::string_view before = "metadata:\n  name: aliquot\n  labels:\n";
    const auto at = text.find(before);
    if (at == std::string::npos)
        throw std::logic_error("prometheus-rule.yaml: metadata is another");
    text.replace(
        at, before.size(),
        "metadata:\n  name: aliquot\n  namespace: aliquot-system\n  labels:\n"
        "    app.kubernetes.io/part-of: aliquot\n    app.kubernetes.io/managed-by: aliquot\n");
    return text;
}

struct Template {
    std::string_view file;
    const std::string_view& text;
};

// In the order of application.
const std::array<Template, 9>& templates() {
    static const std::array<Template, 9> kAll{Template{"namespace.yaml", kNamespaceTemplate},
                                              Template{"agent-access.yaml", kAgentAccessTemplate},
                                              Template{"config.yaml", kConfigTemplate},
                                              Template{"claims.yaml", kClaimsTemplate},
                                              Template{"network.yaml", kNetworkTemplate},
                                              Template{"agent.yaml", kAgentTemplate},
                                              Template{"metrics.yaml", kMetricsTemplate},
                                              Template{"pools.yaml", kPoolsTemplate},
                                              Template{"controller.yaml", kControllerTemplate}};
    return kAll;
}

Manifest only_one(std::string_view text) {
    auto parts = split_manifests(text);
    if (!parts || parts->size() != 1) throw std::logic_error("template: not one object");
    return std::move(parts->front());
}

}  // namespace

std::string Manifest::title() const {
    return kind + " " + (namespace_name.empty() ? "" : namespace_name + "/") + name;
}

Result<std::vector<Manifest>> split_manifests(std::string_view text) {
    std::vector<Manifest> made;
    for (const std::string_view part : parts_of(text)) {
        const auto read = document::parse_yaml(part);
        if (!read.errors.empty()) {
            return Error{ErrorCode::kInvalidInput, "manifest: line " +
                                                       std::to_string(read.errors[0].mark.line) +
                                                       ": " + read.errors[0].message};
        }
        if (read.documents.empty() || read.documents[0].kind == Value::Kind::kNull) continue;
        const Value& root = read.documents[0];
        const Value* const metadata = root.find("metadata");
        Manifest one{
            .api_version = document::text_at(root, "apiVersion"),
            .kind = document::text_at(root, "kind"),
            .namespace_name = metadata != nullptr ? document::text_at(*metadata, "namespace") : "",
            .name = metadata != nullptr ? document::text_at(*metadata, "name") : "",
            .yaml = std::string(part)};
        if (one.api_version.empty() || one.kind.empty() || one.name.empty()) {
            return Error{ErrorCode::kInvalidInput,
                         "manifest: an object without apiVersion, kind or metadata.name"};
        }
        if (!one.yaml.ends_with('\n')) one.yaml += '\n';
        made.push_back(std::move(one));
    }
    return made;
}

std::vector<Manifest> render(const Values& values) {
    const Meaning meaning = meaning_of(values);
    std::vector<Manifest> all;
    for (const Template& one : templates()) {
        auto manifests = split_manifests(expand(one.text, meaning));
        if (!manifests) throw std::logic_error(manifests.error().message);
        for (Manifest& made : *manifests) all.push_back(std::move(made));
    }
    if (values.prometheus_rule) all.push_back(only_one(prometheus_rule()));
    return all;
}

std::string to_yaml(const std::vector<Manifest>& manifests) {
    std::string text;
    for (const Manifest& one : manifests) text.append(text.empty() ? "" : "---\n").append(one.yaml);
    return text;
}

std::string to_json(const Manifest& manifest) {
    const auto read = document::parse_yaml(manifest.yaml);
    return read.documents.empty() ? "{}" : document::to_json(read.documents[0]);
}

Manifest clean_up_pod(const Values& values, const std::string& node) {
    Meaning meaning = meaning_of(values);
    meaning.words["node"] = node;
    meaning.words["pod"] = "aliquot-clean-up-" + node;
    return only_one(expand(kCleanUpTemplate, meaning));
}

std::map<std::string, std::string> chart_files() {
    std::map<std::string, std::string> files;
    for (const Template& one : templates()) {
        files["templates/" + std::string(one.file)] =
            "{{- /* Written from src/install/manifests by aliquot_install_test; do not edit. */ "
            "-}}\n" +
            to_helm(one.text, helm_words());
    }
    files["files/prometheus-rule.yaml"] = prometheus_rule();
    return files;
}

}  // namespace aliquot::install
