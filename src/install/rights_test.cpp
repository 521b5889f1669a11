// SPDX-License-Identifier: Apache-2.0
//
// What the installed programs may do, and that SECURITY.md says so.
#include <set>

#include "install/rendered.h"
#include "kube_client/event_recorder.h"
#include "node/names.h"

namespace aliquot::install {
namespace {

constexpr std::array kPrograms{"aliquot-agent", "aliquot-controller"};
constexpr const char* kBegin = "<!-- what is rendered: written by aliquot_install_test -->\n";
constexpr const char* kEnd = "<!-- end of what is rendered -->\n";

Values all_options() {
    return {.mps = true,
            .mig = true,
            .mig_drain = "evict",
            .labels = "nodefeature",
            .dra = "auto",
            .placement = true,
            .placement_preemption = true,
            .placement_strict = true,
            .placement_extender_ca = "kube-root-ca.crt",
            .claims = true,
            .claims_preemption = true,
            .pools = true,
            .jobs = true,
            .jobs_idle_after = "30m",
            .jobs_api = "jobs-tls",
            .cost_store = "temporary"};
}

std::string listed(const Value* list, const char* mark = "`") {
    std::string text;
    for (const Value& one : list == nullptr ? std::vector<Value>() : list->items)
        text += (text.empty() ? "" : ", ") + (mark + one.scalar) + mark;
    return text;
}

/// One line for each rule of each role: who, what, on what, where.
std::vector<std::string> rules_of(const Values& values) {
    std::vector<std::string> lines;
    for (const Manifest& one : render(values)) {
        if (one.kind != "ClusterRole" && one.kind != "Role") continue;
        const Value role = node_of(one);
        for (const Value& rule : at(role, "rules")->items) {
            std::string on = listed(rule.find("resources"));
            const std::string group = rule.find("apiGroups")->items.at(0).scalar;
            if (!group.empty()) on += " of " + group;
            if (rule.find("resourceNames") != nullptr)
                on += " named " + listed(rule.find("resourceNames"));
            lines.push_back(
                "| " + one.name + " | " + listed(rule.find("verbs"), "") + " | " + on + " | " +
                (one.kind == "Role" ? "namespace `" + one.namespace_name + "`" : "the cluster") +
                " |");
        }
    }
    return lines;
}

std::string rules_table() {
    std::string table = "| role | may | what | where | when |\n|---|---|---|---|---|\n";
    const auto always = rules_of({});
    for (const std::string& line : rules_of(all_options())) {
        const bool asked = std::ranges::find(always, line) == always.end();
        table += line + (asked ? " by option |\n" : " always |\n");
    }
    return table;
}

/// What one container has: user, privileges, capabilities, host directories, ports.
std::string container_line(const std::string& title, const Values& values, const char* program) {
    const bool agent = std::string_view(program) == "aliquot-agent";
    const Value workload = object(values, agent ? "DaemonSet" : "Deployment", program);
    const Value& pod = *at(workload, "spec.template.spec");
    const Value& container = *at(pod, "containers.0");
    const auto has = [&](const std::string& path) {
        for (const Value* from : {&container, &pod}) {
            const Value* const found = at(*from, "securityContext." + path);
            if (found != nullptr) return found->scalar;
        }
        return std::string("-");
    };
    std::string host;
    for (const Value& volume : at(pod, "volumes")->items) {
        if (volume.find("hostPath") == nullptr) continue;
        for (const Value& mount : container.find("volumeMounts")->items) {
            if (text_at(mount, "name") != text_at(volume, "name")) continue;
            host += (host.empty() ? "`" : ", `") + text_at(volume, "hostPath.path") + "`" +
                    (text_at(mount, "readOnly") == "true" ? " (read)" : "");
        }
    }
    std::string ports;
    for (const Value& port : container.find("ports")->items)
        ports += (ports.empty() ? "" : ", ") + text_at(port, "containerPort");
    const std::string user = has("runAsUser") == "0" ? "root" : "an ordinary user";
    const std::string seccomp = has("seccompProfile.type");
    const std::string added = listed(at(container, "securityContext.capabilities.add"));
    return "| " + title + " | " + user + (at(pod, "hostPID") != nullptr ? ", `hostPID`" : "") +
           " | " + (has("privileged") == "true" ? "`privileged: true`" : "no") + " | " +
           (has("privileged") == "true" ? "see above" : (added.empty() ? "none" : added)) + " | " +
           (seccomp == "-" ? "the agent's own" : seccomp) + " | " + has("readOnlyRootFilesystem") +
           " | " + (host.empty() ? "none" : host) + " | " + ports + " |\n";
}

std::string containers_table() {
    Values runtime = all_options();
    runtime.gpu_access = GpuAccess::kRuntime;
    return "| container | user | privileged | capabilities added | seccomp | read-only root | host "
           "directories | ports |\n"
           "|---|---|---|---|---|---|---|---|\n" +
           container_line("agent", {}, kPrograms[0]) +
           container_line("agent, `--mig --mps`", all_options(), kPrograms[0]) +
           container_line("agent, `--gpu-access runtime`", {.gpu_access = GpuAccess::kRuntime},
                          kPrograms[0]) +
           container_line("agent, `--gpu-access runtime --mig --mps`", runtime, kPrograms[0]) +
           container_line("controller", {}, kPrograms[1]);
}

/// What policies hold back beyond roles, in their own words.
std::string policies_list() {
    std::string list;
    for (const Manifest& one : render(all_options())) {
        if (one.kind != "ValidatingAdmissionPolicy") continue;
        const Value policy = node_of(one);
        for (const Value& rule : at(policy, "spec.validations")->items) {
            const Value* const message = rule.find("message");
            // '"the agent may change only the node it runs on, not " + ...'
            std::string text = message != nullptr
                                   ? message->scalar
                                   : rule.find("messageExpression")->scalar.substr(1);
            if (message == nullptr) text.resize(text.find_first_of(",:"));
            list += "- " + text + "\n";
        }
    }
    return list;
}

// It once denied an open port and the API access that everybody could see. UPDATE_CASES=1 writes it.
TEST(Rights, SecurityHasTheTablesOfWhatIsRendered) {
    const fs::path file = fs::path(ALIQUOT_SOURCE_DIR) / "SECURITY.md";
    const std::string told = text_of(file);
    const auto begin = told.find(kBegin);
    const auto end = told.find(kEnd);
    ASSERT_TRUE(begin != std::string::npos && end != std::string::npos);
    expect_file(
        file, told.substr(0, begin) + kBegin + "\n" + rules_table() + "\n" + containers_table() +
                  "\nAdmission policies hold the tokens of agent and controller to less than "
                  "their roles (Kubernetes 1.30 and newer; what is about pods and plans comes with "
                  "--placement):\n\n" +
                  policies_list() + "\n" + told.substr(end));
}

// It once denied an open port and the API access that everybody could see.
TEST(Rights, SecurityTellsOfEveryRightCapabilityAndPort) {
    const std::string told = text_of(fs::path(ALIQUOT_SOURCE_DIR) / "SECURITY.md");
    const Values values = all_options();
    for (const char* const name : {"aliquot-agent", "aliquot-controller"}) {
        for (const char* const kind : {"ClusterRole", "Role"}) {
            const Value role = object(values, kind, name);
            for (const Value& rule : at(role, "rules")->items) {
                for (const Value& one : rule.find("resources")->items) {
                    EXPECT_TRUE(told.contains("`" + one.scalar + "`")) << name << ' ' << one.scalar;
                }
            }
        }
        const bool agent = std::string_view(name) == "aliquot-agent";
        const Value workload = object(values, agent ? "DaemonSet" : "Deployment", name);
        const Value& container = *at(workload, "spec.template.spec.containers.0");
        const Value* const ports = container.find("ports");
        for (const Value& port : ports == nullptr ? std::vector<Value>() : ports->items) {
            const std::string number = port.find("containerPort")->scalar;
            EXPECT_TRUE(told.contains("`" + number + "`") || told.contains("`:" + number + "`"))
                << name << ' ' << number;
        }
    }
    const Value agent = object(values, "DaemonSet", "aliquot-agent");
    EXPECT_EQ(text_at(agent, "spec.template.spec.containers.0.securityContext.privileged"), "true");
    EXPECT_TRUE(told.contains("`privileged: true`"));
    for (const char* const kept : {"SYS_ADMIN", "SETUID", "SETGID", "KILL", "SYS_PTRACE"}) {
        EXPECT_TRUE(told.contains(kept)) << kept;
    }
}

/// The expression of a variable or validation, by its name or message; empty: there is none.
std::string expression_of(const Value& policy, const std::string& name) {
    for (const char* const list : {"spec.variables", "spec.validations"}) {
        for (const Value& one : at(policy, list)->items) {
            for (const char* const key : {"name", "message"}) {
                if (one.find(key) != nullptr && one.find(key)->scalar == name)
                    return one.find("expression")->scalar;
            }
        }
    }
    return {};
}

// What the agent writes is what the policy lets it write; the policy itself is tried with a real API server only.
TEST(Rights, ThePolicyLetsTheAgentWriteWhatItWritesAndNoMore) {
    const Value policy = object({}, "ValidatingAdmissionPolicy", "aliquot-agent-own-node");
    const std::string conditions = expression_of(policy, "newForeignConditions");
    for (const char* const type : node::kConditions)
        EXPECT_TRUE(conditions.contains('"' + std::string(type) + '"')) << type;
    for (const char* const key : node::kAnnotations)
        EXPECT_TRUE(std::string_view(key).starts_with("aliquot.dev/")) << key;
    const std::string labels = expression_of(policy, "foreignLabels");
    for (const char* const key : {"accelerator", "role", "gpu-type", "gpu-memory"})
        EXPECT_TRUE(labels.contains('"' + std::string(key) + '"'))
            << key;  // labels::profile_labels
    for (const char* const key : {node::kMigConfigLabel, node::kConfigLabel})
        EXPECT_TRUE(labels.contains('"' + std::string(key) + '"')) << key;  // a person's wish
    EXPECT_EQ(expression_of(policy, "taintKeys"),
              "[\"" + std::string(node::kUnhealthyTaint) + "\" ]");
    const Value tainting = object({.node_taint = "dedicated=gpu:NoSchedule"},
                                  "ValidatingAdmissionPolicy", "aliquot-agent-own-node");
    EXPECT_EQ(expression_of(tainting, "taintKeys"),
              "[\"aliquot.dev/gpu-unhealthy\" , \"dedicated\" ]");
    const Value events = object({}, "ValidatingAdmissionPolicy", "aliquot-agent-own-events");
    const std::string own =
        expression_of(events, "the agent may write only Events about the node it runs on");
    EXPECT_TRUE(own.contains(kube_client::EventRecorderOptions().controller)) << own;
    for (const Value* const one : {&policy, &events})
        EXPECT_EQ(text_at(*one, "spec.failurePolicy"), "Fail");
}

}  // namespace
}  // namespace aliquot::install
