// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "lint/rules/metric_names.h"
#include "lint/rules/metrics.h"
#include "lint/rules/shell.h"
#include "lint/words.h"

/// PROM003, PROM004, PROM005, PROM009, PROM010: labels, and who collects the metrics.
namespace aliquot::lint {

namespace {

bool is_dcgm(std::string_view metric) { return metric.starts_with("DCGM_FI_"); }

bool is_pod_label(std::string_view label) {
    return label == "pod" || label == "namespace" || label == "container";
}

/// The labels that a selector is matched or grouped by, with their places.
struct Label {
    std::string name;
    Mark mark;
    std::string value;  // empty: grouped by it
};
std::vector<Label> labels_of(const Expression::Selector& selector) {
    std::vector<Label> labels;
    for (const auto& matcher : selector.matchers) {
        labels.push_back({matcher.label, matcher.mark, matcher.op == "=" ? matcher.value : ""});
    }
    for (const auto& label : selector.grouping) {
        labels.push_back({label, selector.mark, {}});
    }
    return labels;
}

/// namespace="gpu-operator": where the exporter runs is what is meant.
bool is_of_exporter(const Label& label) {
    constexpr std::array<std::string_view, 12> kParts{
        "kube-system",   "gpu-operator", "nvidia",        "monitoring",
        "dcgm",          "prometheus",   "observability", "gpu-resources",
        "gpu_namespace", "gpu_operator", "exporter",      "gpuoperator"};
    return label.name != "container" &&
           std::any_of(kParts.begin(), kParts.end(), [&label](std::string_view part) {
               return label.value.find(part) != std::string::npos;
           });
}

void check_foreign_label(const Label& label, Report& report) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kForeign{{
        {"kubernetes_node", "hostname (Hostname before 4.8.3)"},
        {"gpu_id", "gpu"},
        {"gpu_name", "modelName"},
        {"node_name", "hostname (Hostname before 4.8.3)"},
    }};
    for (const auto& [name, now] : kForeign) {
        if (label.name == name) {
            report.add("PROM003", label.mark, "dcgm-exporter has no label '" + label.name + "'")
                .expected(std::string(now));
        }
    }
}

bool shares_gpus(const File& file, const Set& set) {
    const auto near = set.neighbours(file);
    const auto shares = [](const File& some) {
        return some.mentions("replicas:") &&
               (some.mentions("timeslicing:") || some.mentions("mps:"));
    };
    return shares(file) || std::any_of(near.begin(), near.end(),
                                       [&shares](const File* other) { return shares(*other); });
}

}  // namespace

void check_metric_labels(const File& file, const Set& set, Report& report) {
    const bool any = std::any_of(
        file.expressions.begin(), file.expressions.end(), [](const Expression& expression) {
            return std::any_of(expression.selectors.begin(), expression.selectors.end(),
                               [](const auto& selector) { return is_dcgm(selector.metric); });
        });
    if (!any) {
        return;
    }
    const bool relabels =
        is_said_nearby(file, set, "relabel") || is_said_nearby(file, set, "target_label") ||
        is_said_nearby(file, set, "targetlabel") || is_said_nearby(file, set, "__meta_kubernetes");
    const bool honors =
        is_said_nearby(file, set, "honorlabels") || is_said_nearby(file, set, "honor_labels") ||
        is_said_nearby(file, set, "exported_pod") ||
        is_said_nearby(file, set, "exported_namespace") ||
        is_said_nearby(file, set, "exported_container") || is_said_nearby(file, set, "podmonitor");
    const bool shares = shares_gpus(file, set);
    for (const auto& expression : file.expressions) {
        for (const auto& selector : expression.selectors) {
            if (!is_dcgm(selector.metric)) {
                continue;
            }
            const auto* metric = find_metric(selector.metric);
            bool said_pod = false;
            bool said_share = false;
            for (const auto& label : labels_of(selector)) {
                if (!relabels) {
                    check_foreign_label(label, report);
                }
                if (is_pod_label(label.name) && !is_of_exporter(label) && !honors && !relabels &&
                    !said_pod) {
                    said_pod = true;
                    report
                        .add("PROM004", label.mark,
                             "'" + label.name + "' is the exporter's own " + label.name +
                                 " unless the ServiceMonitor has honorLabels: true")
                        .fix("exported_" + label.name);
                }
                const bool of_a_pod = label.name == "pod" || label.name == "exported_pod";
                if (of_a_pod && shares && metric != nullptr && metric->additive && !said_share) {
                    said_share = true;
                    report.add("PROM005", selector.mark,
                               selector.metric +
                                   " of a shared GPU is the value of the whole GPU, "
                                   "with the name of one of its pods");
                }
            }
        }
    }
}

namespace {

/// The command installs this chart: `helm install NAME REPO/CHART`.
bool installs_chart(const Command& command, std::string_view chart) {
    return (command.is("helm", "install") || command.is("helm", "upgrade")) &&
           contains(command.text, chart);
}

/// A ServiceMonitor of the text's own, written there or applied from a file of that name.
bool brings_monitor(const File& file) {
    return std::any_of(file.objects.begin(), file.objects.end(),
                       [](const Object& one) { return one.kind == "ServiceMonitor"; }) ||
           std::any_of(file.commands.begin(), file.commands.end(), [](const Command& one) {
               return one.is("kubectl") &&
                      (contains(one.text, "service-monitor") ||
                       contains(one.text, "servicemonitor")) &&
                      one.value("-f").has_value();
           });
}

/// PROM009: kube-prometheus-stack looks at ServiceMonitors with its release's label alone.
void check_selector(const File& file, Report& report) {
    const Command* stack = nullptr;
    for (const auto& command : file.commands) {
        if (command.block >= 0 && installs_chart(command, "kube-prometheus-stack")) {
            stack = &command;
        }
    }
    const bool is_open =
        file.mentions("niluseshelmvalues") || file.mentions("servicemonitorselector") ||
        file.mentions("additionallabels") || file.mentions("additionalscrapeconfigs") ||
        brings_monitor(file) || file.mentions("release:") || file.mentions("release=");
    if (stack == nullptr || is_open) {
        return;
    }
    for (const auto& command : file.commands) {
        if (command.block >= 0 && installs_chart(command, "dcgm-exporter")) {
            report
                .add("PROM009", command.mark,
                     "the ServiceMonitor of this release has no label that kube-prometheus-stack "
                     "looks for")
                .fix("--set serviceMonitor.additionalLabels.release=<release of the stack>");
        }
    }
}

/// PROM009: a ServiceMonitor beside the stack, without its label.
void check_monitors(const File& file, Report& report) {
    for (const auto& command : file.commands) {
        if (command.block < 0 || !installs_chart(command, "kube-prometheus-stack")) {
            continue;
        }
        const auto words = command.positionals();
        if (words.size() < 2 || is_placeholder(words[1]->text) ||
            file.mentions("niluseshelmvalues")) {
            return;
        }
        for (const auto& object : file.objects) {
            if (!object.is("ServiceMonitor") || object.role != Role::kObject ||
                !contains(object.name, "dcgm")) {
                continue;
            }
            const auto release = text_at(*object.node, "metadata.labels.release");
            if (release != words[1]->text && !is_placeholder(release)) {
                report
                    .add("PROM009", object.mark(),
                         release.empty() ? "the ServiceMonitor has no label 'release'"
                                         : "the ServiceMonitor has the label release: " + release)
                    .expected("release: " + words[1]->text)
                    .fix("labels:\n  release: " + words[1]->text);
            }
        }
        return;
    }
}

/// PROM009: text that takes for granted that somebody collects.
void check_promises(const File& file, Report& report) {
    const bool says_how = file.mentions("servicemonitor") || file.mentions("podmonitor") ||
                          file.mentions("scrape_config") || file.mentions("prometheus.io/scrape") ||
                          file.mentions("scrape config") || file.mentions("managed prometheus") ||
                          file.mentions("managed service") || file.mentions("openshift") ||
                          file.mentions("azure");
    if (says_how || !file.is_prose()) {
        return;
    }
    for (const auto& statement : file.statements) {
        const std::string_view text = statement.text;
        if (contains(text, "automatically") && contains(text, "metric") && contains(text, "gpu") &&
            (contains(text, "collected") || contains(text, "scraped") ||
             contains_word(text, "export") || contains_word(text, "exports") ||
             contains_word(text, "exported"))) {
            report.add("PROM009", statement.mark,
                       "GPU metrics are not collected by themselves: nothing here makes Prometheus "
                       "scrape the exporter");
        }
    }
    for (const auto& command : file.commands) {
        if (command.block >= 0 && (file.mentions("dcgm")) && command.program == "microk8s" &&
            (contains(command.text, "enable observability") ||
             contains(command.text, "enable prometheus"))) {
            report.add(
                "PROM009", command.mark,
                "the addon does not scrape dcgm-exporter by itself: it needs a ServiceMonitor "
                "with the label of the addon's release");
        }
    }
}

bool is_about_gpu_use(const File& file, int heading) {
    const auto path = lower(file.heading_path(heading));
    const auto last = path.rfind(" > ");  // the heading and the one above it
    const auto cut =
        last == std::string::npos || last == 0 ? std::string::npos : path.rfind(" > ", last - 1);
    const auto near = cut == std::string::npos ? path : path.substr(cut);
    return near.find("gpu") != std::string::npos &&
           (near.find("monitor") != std::string::npos || near.find("metric") != std::string::npos ||
            near.find("usage") != std::string::npos || near.find("utiliz") != std::string::npos);
}

/// "# Monitor GPU use", `echo "Watch GPU utilization: kubectl top nodes"`, "GPU usage: `kubectl top pods`".
bool is_shown_for_gpus(const File& file, const Command& command) {
    constexpr std::array<std::string_view, 5> kUse{"util", "usage", "memory", "monitor", " use"};
    const auto is_of_gpus = [&kUse](std::string_view words) {
        const bool honest = contains(words, "not ") || contains(words, "n't") ||
                            contains(words, "no gpu") || contains(words, "without") ||
                            contains(words, "cpu") || contains(words, "gpu node") ||
                            contains(words, "gpu pod") || contains(words, "gpu worker");
        return contains(words, "gpu") && !honest &&
               std::any_of(kUse.begin(), kUse.end(),
                           [words](std::string_view use) { return contains(words, use); });
    };
    if (is_of_gpus(command.comment)) return true;
    if (command.block >= 0 && !command.shown) return false;
    // The words before the command in its line.
    const std::string_view line = file.line(command.mark.line);
    return is_of_gpus(line.substr(0, std::min<std::size_t>(line.size(), command.mark.column - 1)));
}

/// PROM010: metrics-server knows CPU and memory.
void check_metrics_server(const File& file, Report& report) {
    if (!file.mentions("metrics-server") && !file.mentions("kubectl top") &&
        !file.mentions("metrics.k8s.io")) {
        return;
    }
    if (!file.is_prose() && file.kind != FileKind::kShell) return;
    for (const auto& command : file.commands) {
        if (command.block < 0 && !command.is("kubectl", "top")) {
            continue;
        }
        const bool installs = contains(command.text, "metrics-server") &&
                              (command.program == "microk8s" || command.program == "helm" ||
                               command.program == "minikube" || command.is("kubectl", "apply") ||
                               command.is("kubectl", "create")) &&
                              !contains(command.text, "rollout") &&
                              !contains(command.text, " get ");
        const bool raw = contains(command.text, "metrics.k8s.io") &&
                         !contains(command.text, "custom.metrics") &&
                         !contains(command.text, "external.metrics") &&
                         contains(pipeline_text(file, command), "nvidia.com/gpu");
        const bool shows =
            raw || (command.is("kubectl", "top") && is_shown_for_gpus(file, command));
        if (shows || (installs && is_about_gpu_use(file, command.heading))) {
            report
                .add("PROM010", command.mark,
                     shows && !raw ? "kubectl top shows CPU and memory, no GPU"
                                   : "metrics-server knows CPU and memory, no GPU")
                .fix("dcgm-exporter with Prometheus");
        }
    }
    for (const auto& statement : file.statements) {
        const std::string_view text = statement.text;
        if (contains(text, "metrics-server") && contains(text, "gpu") &&
            (contains(text, "gpu usage") || contains(text, "gpu metrics") ||
             contains(text, "gpu utilization")) &&
            !contains(text, "not ") && !contains(text, "n't") && !contains(text, "only")) {
            report.add("PROM010", statement.mark, "metrics-server knows CPU and memory, no GPU");
        }
    }
}

}  // namespace

void check_scraping(const File& file, Report& report) {
    check_selector(file, report);
    check_monitors(file, report);
    check_promises(file, report);
    check_metrics_server(file, report);
}

}  // namespace aliquot::lint
