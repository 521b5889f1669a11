// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "lint/reading.h"
#include "syntax/shell_line.h"

namespace aliquot::lint {
namespace {

/// A command of one line in the steps of GitLab, cloud-init or Ansible.
bool is_step(std::string_view key, const Value& node) {
    constexpr std::array<std::string_view, 10> kKeys{"script",
                                                     "before_script",
                                                     "after_script",
                                                     "runcmd",
                                                     "bootcmd",
                                                     "command",
                                                     "shell",
                                                     "cmd",
                                                     "ansible.builtin.shell",
                                                     "ansible.builtin.command"};
    return node.is_string() && node.scalar.find(' ') != std::string::npos &&
           std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end() &&
           syntax::looks_like_command(node.scalar);
}

/// Block scalars anywhere below: the texts of ConfigMaps, scripts, values.
void collect_texts(const Value& node, std::string_view key, int depth,
                   std::vector<std::pair<std::string, const Value*>>& texts) {
    constexpr int kDeepest = 40;
    constexpr std::size_t kMost = 2'000;
    if (depth > kDeepest || texts.size() > kMost) return;
    const bool text = node.is_string() && node.scalar.find('\n') != std::string::npos;
    const bool json = node.is_string() && node.quoted && node.scalar.size() > 8 &&
                      (node.scalar.front() == '{' || node.scalar.front() == '[');
    const bool step = key == "run" && node.is_string() && !node.scalar.empty();  // of a workflow
    if (text || json || step || is_step(key, node)) texts.emplace_back(key, &node);
    for (const Value& item : node.items) collect_texts(item, key, depth + 1, texts);
    for (const auto& [name, value] : node.entries) {
        collect_texts(value, name.scalar, depth + 1, texts);
    }
}

/// The text `values: |` of an Application of Argo, and `valuesContent: |` of k3s's HelmChart.
void set_written_chart(Object& values, const Object& holder) {
    if (!values.chart.empty() || !values.kind.empty() || !values.node->is_mapping()) return;
    if (values.role != Role::kNothing && values.role != Role::kHelmValues &&
        values.role != Role::kFragment) {
        return;
    }
    std::string chart;
    if (holder.kind == "Application" && values.key == "values") {
        chart = text_at(*holder.node, "spec.source.chart");
        if (chart.empty()) chart = text_at(*holder.node, "spec.sources.0.chart");
    } else if (holder.kind == "HelmChart" && values.key == "valuesContent") {
        chart = text_at(*holder.node, "spec.chart");
        chart.erase(0, chart.rfind('/') + 1);
    }
    if (chart != "gpu-operator" && chart != "nvidia-device-plugin" && chart != "dcgm-exporter")
        return;
    values.chart = std::move(chart);
    values.role = Role::kHelmValues;
}

}  // namespace

void read_enclosed_texts(File& file, int index, const ReadLimits& limits, int depth) {
    const Object object = file.objects[static_cast<std::size_t>(index)];
    std::vector<std::pair<std::string, const Value*>> texts;
    collect_texts(*object.node, "", 0, texts);
    for (const auto& [key, node] : texts) {
        if (key == "kubectl.kubernetes.io/last-applied-configuration") continue;
        const syntax::DeclaredLanguage language =
            is_step(key, *node) ? syntax::DeclaredLanguage{true, Language::kShell}
                                : syntax::language_of_value(key, node->scalar);
        if (!language.known) continue;
        Block block = block_of_scalar(file, object.block, *node);
        block.language = language.language;
        block.patch = key == "patch" || key == "patchesStrategicMerge" || key == "patches";
        const std::size_t first = file.objects.size();
        if (add_block(file, std::move(block), limits, depth + 1) < 0) return;
        for (std::size_t i = first; i < file.objects.size(); ++i) {
            if (file.objects[i].holder >= 0) continue;
            file.objects[i].holder = index;
            file.objects[i].key = key;
            set_written_chart(file.objects[i], object);
        }
    }
}

}  // namespace aliquot::lint
