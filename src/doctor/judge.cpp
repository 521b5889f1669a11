// SPDX-License-Identifier: Apache-2.0
#include "doctor/judge.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "doctor/text.h"
#include "findings/finding.h"
#include "findings/rule.h"

namespace aliquot::doctor {
namespace {

/// Which levels a target asks for. Host checks need a host's files, the others the cluster's.
bool belongs(const Facts& facts, const Check& check, Scope scope) {
    const Level level = check.level;
    const bool of_host = level <= Level::kKubelet;
    if (scope == Scope::kSlow && level == Level::kRun) return true;
    if (scope == Scope::kBeforeInstall && !of_host) return false;
    if (check.of_objects && facts.cluster.known) return true;
    switch (facts.target.kind) {
        case Target::Kind::kHost:
            return of_host || facts.cluster.known ||
                   (level == Level::kRun && facts.nvml.state == NvmlFacts::State::kOk) ||
                   (level == Level::kContainer && !facts.cluster.logs.empty());
        case Target::Kind::kNode:
        case Target::Kind::kPod:
            return !of_host || facts.tree.has_beneath("/proc") || facts.tree.has_beneath("/sys") ||
                   facts.tree.has_beneath("/etc") || facts.tree.has_beneath("cmd");
        case Target::Kind::kCluster:
            return !of_host;
    }
    return false;
}

class Judge {
public:
    Judge(const Facts& facts, Scope scope) : facts_(facts), scope_(scope) {}

    std::vector<Judged> run() {
        for (const Check& check : all_checks_sorted()) {
            if (!belongs(facts_, check, scope_)) continue;
            Judged judged{.id = std::string(check.id), .level = check.level};
            judged.blocked_by = keeps_pending(check.id) ? std::string() : blocker_of(check);
            if (judged.blocked_by.empty()) {
                judged.verdict = check.judge(facts_);
            } else {
                judged.verdict = not_here("not run: " + judged.blocked_by + " failed");
            }
            if (judged.verdict.outcome == Outcome::kFailed) {
                causes_[judged.id] = judged.id;
                if (check.fatal && gate_.empty()) {
                    gate_ = judged.id;
                    gate_level_ = check.level;
                }
            } else if (!judged.blocked_by.empty()) {
                causes_[judged.id] = judged.blocked_by;
            }
            const findings::Rule* const rule = findings::find_rule(check.id);
            judged.severity = judged.verdict.outcome == Outcome::kFailed    ? "error"
                              : judged.verdict.outcome == Outcome::kWarning ? "warning"
                              : rule == nullptr                             ? "error"
                                                : std::string(findings::to_text(rule->severity));
            done_.push_back(std::move(judged));
        }
        return std::move(done_);
    }

private:
    /// By level; inside a level in the order of the tables.
    static std::vector<Check> all_checks_sorted() {
        auto all = all_checks();
        std::ranges::stable_sort(all, {}, [](const Check& check) { return check.level; });
        return all;
    }

    /// What keeps the pod waiting that is asked about is told, whatever else is wrong.
    [[nodiscard]] bool keeps_pending(std::string_view id) const {
        if (facts_.target.kind != Target::Kind::kPod) return false;
        const auto cause = facts_.pending.find(facts_.target.name);
        // Why its node offers nothing is for the layers below to say, where one of them failed.
        return cause != facts_.pending.end() && cause->second == id && id != "NODE001";
    }

    [[nodiscard]] std::string blocker_of(const Check& check) const {
        if (!gate_.empty() && check.level > gate_level_) return gate_;
        for (const std::string_view word : words_of(check.after)) {
            for (const auto& [id, cause] : causes_) {
                if (id != check.id && bundle::fits(word, id)) return cause;
            }
        }
        return {};
    }

    const Facts& facts_;
    Scope scope_;
    std::vector<Judged> done_;
    std::map<std::string, std::string> causes_;  // failed or blocked id -> the id that failed
    std::string gate_;
    Level gate_level_ = Level::kHardware;
};

std::string title_of(const Facts& facts) {
    std::vector<std::string> parts;
    if (facts.target.kind == Target::Kind::kPod || facts.target.kind == Target::Kind::kNode) {
        parts.push_back(facts.target.name);
    } else if (facts.target.kind == Target::Kind::kCluster) {
        parts.emplace_back("cluster");
    }
    for (const char* const path : {"/etc/os-release", "/usr/lib/os-release"}) {
        const std::string* const text = facts.tree.text(path);
        if (text == nullptr) continue;
        std::string_view name = after(*text, "PRETTY_NAME=");
        name = name.substr(0, name.find('\n'));
        while (name.starts_with('"')) name.remove_prefix(1);
        while (name.ends_with('"')) name.remove_suffix(1);
        if (!name.empty()) parts.push_back(clip(name, 60));
        break;
    }
    if (facts.target.kind != Target::Kind::kCluster) {
        if (facts.host.kernel.ok()) parts.push_back("kernel " + facts.host.kernel.value);
        if (facts.host.driver.ok()) parts.push_back("driver " + facts.host.driver.value);
        if (facts.runtime.found()) {
            parts.push_back(facts.runtime.flavour +
                            (facts.runtime.version.empty() ? "" : " " + facts.runtime.version));
        }
        std::map<std::string, unsigned> models;
        for (const KernelGpu& gpu : facts.host.gpus.value) ++models[gpu.model];
        for (const auto& [model, count] : models) {
            parts.push_back(std::to_string(count) + "x " + (model.empty() ? "GPU" : model));
        }
    } else {
        parts.push_back(std::to_string(facts.cluster.all("Node").size()) + " nodes");
    }
    return join(parts, "   ");
}

/// The lowest broken level's failures; what they explain is skipped already. Of a pod that waits
/// for a node: what keeps it waiting.
std::vector<std::string> root_causes_of(const Facts& facts, const std::vector<Judged>& in_order) {
    if (facts.target.kind == Target::Kind::kPod) {
        const auto cause = facts.pending.find(facts.target.name);
        const bool told =
            cause != facts.pending.end() && cause->second != "NODE001" &&
            std::ranges::any_of(in_order, [&](const Judged& one) {
                return one.id == cause->second && one.verdict.outcome == Outcome::kFailed;
            });
        if (told) return {cause->second};
    }
    std::vector<std::string> causes;
    std::optional<Level> lowest;
    for (const Judged& one : in_order) {
        if (one.verdict.outcome != Outcome::kFailed) continue;
        if (!lowest) lowest = one.level;
        if (one.level == *lowest) causes.push_back(one.id);
    }
    return causes;
}

/// What holds a program back, the strongest cause first: a GPU that does not work, clocks that are
/// kept down, its own limit, others, and what it does to itself.
std::vector<std::string> causes_of_slowness(const std::vector<Judged>& checks) {
    constexpr std::array<std::string_view, 19> kStrongestFirst{
        "PERF019", "PERF001", "PERF003", "PERF016", "PERF007", "PERF018", "PERF010",
        "PERF017", "PERF015", "PERF002", "PERF005", "PERF006", "PERF004", "PERF008",
        "PERF011", "PERF012", "PERF014", "PERF009", "PERF013"};
    std::vector<std::string> causes;
    for (const std::string_view id : kStrongestFirst) {
        const auto found = std::ranges::find(checks, id, &Judged::id);
        if (found == checks.end() || found->verdict.outcome != Outcome::kWarning) continue;
        causes.emplace_back(id);
    }
    return causes;
}

}  // namespace

bool Report::success() const { return count(Outcome::kFailed) == 0; }

unsigned Report::count(Outcome outcome) const {
    return static_cast<unsigned>(std::ranges::count_if(
        checks, [&](const Judged& one) { return one.verdict.outcome == outcome; }));
}

const Judged* Report::find(std::string_view id) const {
    const auto found = std::ranges::find(checks, id, &Judged::id);
    return found == checks.end() ? nullptr : &*found;
}

const Judged* Report::first_warning() const {
    constexpr std::array<std::string_view, 11> kAdvice{"DRV011", "DRV015", "DRV013", "DRV014",
                                                       "CTK001", "CTK003", "CTK004", "KUB007",
                                                       "HW007",  "HW008",  "DRV010"};
    const auto rank = [&](const Judged& one) { return std::ranges::find(kAdvice, one.id); };
    const Judged* best = nullptr;
    for (const Judged& one : checks) {
        if (one.verdict.outcome == Outcome::kFailed) return nullptr;
        if (one.verdict.outcome != Outcome::kWarning) continue;
        const bool advice = rank(one) != kAdvice.end();
        const bool better =
            best != nullptr && rank(*best) != kAdvice.end() && (!advice || rank(one) < rank(*best));
        if (best == nullptr || better) best = &one;
    }
    return best;
}

Report judge(const Facts& facts, Scope scope) {
    Report report{.target = facts.target, .title = title_of(facts)};
    report.checks = Judge(facts, scope).run();
    report.root_causes = root_causes_of(facts, report.checks);
    report.of_speed = scope == Scope::kSlow;
    if (report.of_speed && report.root_causes.empty()) {
        report.root_causes = causes_of_slowness(report.checks);
    }
    std::ranges::stable_sort(report.checks, [](const Judged& a, const Judged& b) {
        return a.level != b.level ? a.level < b.level : a.id < b.id;
    });
    return report;
}

}  // namespace aliquot::doctor
