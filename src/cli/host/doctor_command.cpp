// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/nearest_word.h"
#include "base/sentence.h"
#include "bundle/bundle.h"
#include "bundle/collect.h"
#include "cli/answer.h"
#include "cli/cluster/cluster_flags.h"
#include "cli/commands.h"
#include "cli/host/doctor_slow.h"
#include "cli/host/doctor_tree.h"
#include "cli/host/driver_choice.h"
#include "cli/svg_file.h"
#include "command_line/command.h"
#include "doctor/cluster_api.h"
#include "doctor/drawing.h"
#include "doctor/fix.h"
#include "doctor/live.h"
#include "doctor/report.h"
#include "findings/finding.h"
#include "findings/rule.h"
#include "os/root.h"

namespace aliquot::cli {
namespace {

struct DoctorOptions {
    std::vector<std::string> target;
    std::string root;
    std::string facts;
    std::string bundle;
    std::string save;
    std::string explain;
    std::string format = "text";
    std::string fail_on = "error";
    std::string ask_nvml;
    std::string svg;
    ClusterOptions cluster;
    SlowOptions slow;
    bool before_install = false;
    bool fix = false;
    bool yes = false;
    bool verbose = false;
};

std::string environment(const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
    return value == nullptr ? "" : value;
}

bool speaks_utf8() {
    for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        const std::string value = environment(name);
        if (value.empty()) continue;
        return value.contains("UTF-8") || value.contains("utf8") || value.contains("UTF8");
    }
    return false;
}

/// The words behind `doctor`; empty when they make no target (and then `context` says why).
std::optional<doctor::Target> target_of(Context& context, const DoctorOptions& words,
                                        bool has_cluster) {
    using Kind = doctor::Target::Kind;
    const auto& given = words.target;
    if (given.empty()) {
        const bool offline = !words.root.empty();
        const bool of_host = words.slow.pid != 0 || offline || !has_cluster;
        return doctor::Target{of_host ? Kind::kHost : Kind::kCluster, "", "", words.slow.pid};
    }
    const std::string& word = given[0];
    if (word == "host" || word == "cluster") {
        if (given.size() > 1) {
            fail(context, kUsage, "doctor " + word + " takes no name, found '" + given[1] + "'");
            return std::nullopt;
        }
        return doctor::Target{word == "host" ? Kind::kHost : Kind::kCluster, "", "",
                              words.slow.pid};
    }
    if (word == "node" || word == "pod") {
        if (given.size() != 2) {
            fail(context, kUsage,
                 word == "node" ? "doctor node needs the name of one node"
                                : "doctor pod needs one pod as NAMESPACE/NAME, or NAME with -n");
            return std::nullopt;
        }
        return doctor::Target{word == "node" ? Kind::kNode : Kind::kPod, given[1],
                              words.slow.container};
    }
    constexpr std::array<std::string_view, 4> kKnown{"host", "node", "pod", "cluster"};
    const auto near = nearest_word(word, kKnown);
    fail(context, kUsage,
         "doctor: unknown target '" + word + "'" +
             (near.empty() ? "; expected host, node NODE, pod NAMESPACE/POD or cluster"
                           : ", did you mean '" + std::string(near) + "'?"));
    return std::nullopt;
}

void explain(Context& context, const std::string& id, const std::string& format) {
    std::string wanted = id;
    for (char& c : wanted) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const findings::Rule* const rule = findings::find_rule(wanted);
    if (rule == nullptr || rule->tool != "doctor") {
        std::vector<std::string_view> known;
        for (const findings::Rule& one : findings::rules()) {
            if (one.tool == "doctor") known.push_back(one.id);
        }
        const auto near = nearest_word(wanted, known);
        return fail(context, kUsage, "doctor has no check '" + id + "'" + did_you_mean(near));
    }
    if (format == "json" || format == "yaml") {
        return print_answer(context.out, "Rule", findings::to_json(*rule), format);
    }
    context.out << rule->id << " (" << findings::to_text(rule->severity) << "): " << rule->what
                << "\n\nWhy:  " << rule->why << "\nFix:  " << rule->fix << "\nDocs: " << rule->doc
                << '\n';
}

/// Gives the pod that is asked about its namespace. False: the words contradict each other.
bool complete_pod(Context& context, DoctorOptions& words, const std::string& space) {
    if (words.target.size() != 2 || words.target[0] != "pod") return true;
    std::string& name = words.target[1];
    const auto slash = name.find('/');
    const std::string& asked = words.cluster.namespace_name;
    if (slash == std::string::npos) {
        name = (asked.empty() ? space : asked) + "/" + name;
    } else if (!asked.empty() && name.substr(0, slash) != asked) {
        fail(context, kUsage, "doctor pod " + name + ": -n says " + asked);
        return false;
    }
    return true;
}

std::optional<bundle::Tree> or_fail(Context& context, Result<bundle::Tree> tree) {
    if (tree) return std::optional<bundle::Tree>(*std::move(tree));
    const bool usage =
        tree.error().code == ErrorCode::kInvalidInput || tree.error().code == ErrorCode::kNotFound;
    fail(context, usage ? kUsage : kCouldNotRun, tree.error().message);
    return std::nullopt;
}

/// What somebody has saved, or a directory that stands for a machine.
Result<bundle::Tree> gather_files(const DoctorOptions& words) {
    if (const auto& saved = words.bundle.empty() ? words.facts : words.bundle; !saved.empty()) {
        std::error_code problem;
        if (std::filesystem::is_directory(saved, problem)) {
            return Error{ErrorCode::kInvalidInput,
                         saved + ": is a directory, a saved file was expected; --root takes one"};
        }
        return bundle::load_tree(saved);
    }
    auto tree = bundle::collect_directory(words.root);
    if (tree && tree->taken_s == 0) tree->taken_s = std::time(nullptr);
    return tree;
}

/// Adds what the API server says. False: it was said why not.
bool gather_cluster(Context& context, DoctorOptions& words, bundle::Tree& tree) {
    const auto connection = connect_cluster(context, words.cluster);
    if (!connection || !complete_pod(context, words, connection->namespace_name)) return false;
    doctor::ClusterQuestion question{
        .kind_deadline = std::chrono::seconds(words.cluster.request_timeout_seconds)};
    if (words.target.size() == 2 && words.target[0] == "pod") {
        const auto slash = words.target[1].find('/');
        question.pod_namespace = words.target[1].substr(0, slash);
        question.pod = words.target[1].substr(slash + 1);
    }
    const auto notes = doctor::gather_cluster(*connection->api, question, tree);
    if (!notes && notes.failure().is(kube_client::Reason::kNotFound)) {
        fail(context, kUsage,
             "there is no pod " + words.target[1] + " in " + connection->origin + " (" +
                 connection->server + ")");
        return false;
    }
    if (!notes) {
        fail(context, notes.failure());
        return false;
    }
    if (words.slow.asked && words.slow.agents.empty()) {
        add_states_of_cluster(*connection->api, words.slow, words.target, tree);
    }
    for (const std::string& note : *notes) context.err << "aliquot: not read: " << note << '\n';
    return true;
}

/// Everything that can be asked, from where the words say. Empty: it was said why not.
std::optional<bundle::Tree> gather(Context& context, DoctorOptions& words) {
    if (!words.bundle.empty() || !words.facts.empty() || !words.root.empty()) {
        if (!complete_pod(context, words, "default")) return std::nullopt;
        return or_fail(context, gather_files(words));
    }
    const bool named = !words.cluster.kubeconfig.empty() || !words.cluster.context.empty();
    const bool of_host =
        words.slow.pid != 0 || (!words.target.empty() && words.target[0] == "host");
    const bool host = of_host || (words.target.empty() && !named && !doctor::knows_a_cluster());
    bundle::Tree tree;
    tree.name = "the cluster";
    tree.taken_s = std::time(nullptr);
    if (host) {
        doctor::LiveOptions options{.program = (context.program_directory / "aliquot").native()};
        const std::string node = node_of_shell();
        if (!node.empty()) options.root = node;
        auto seen = or_fail(context, doctor::gather_live(options));
        if (!seen) return std::nullopt;
        tree = *std::move(seen);
    }
    if ((!host || named) && !gather_cluster(context, words, tree)) return std::nullopt;
    const bool measure = words.slow.asked && (host || !words.slow.agents.empty());
    if (measure && !add_states(context, words.slow, host ? node_of_shell() : "", tree)) {
        return std::nullopt;
    }
    return tree;
}

bool agreed(Context& context) {
    context.err << "Apply this change? [y/N] " << std::flush;
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
}

void apply_fixes(Context& context, const DoctorOptions& words, const doctor::Report& report,
                 const doctor::Facts& facts) {
    if (!words.bundle.empty() || !words.facts.empty()) {
        return fail(context, kUsage, "--fix needs the machine itself, not saved facts");
    }
    const auto fixes = doctor::safe_fixes(report, facts);
    if (fixes.empty()) context.err << "aliquot: nothing here that can be fixed safely\n";
    const os::Root root(words.root.empty() ? "/" : words.root);
    // What programs read stays what they can read.
    const bool for_programs =
        words.format == "json" || words.format == "yaml" || words.format == "junit";
    std::ostream& out = for_programs ? context.err : context.out;
    for (const doctor::SafeFix& one : fixes) {
        if (!one.path.empty() && one.before == one.after) {
            out << '\n'
                << one.path << " says so already"
                << (one.then.empty() ? "" : "; still to do: " + one.then) << '\n';
            continue;
        }
        out << '\n' << doctor::show(one);
        if (!words.yes && !agreed(context)) {
            out << "left as it is\n";
            continue;
        }
        const auto done = doctor::apply(one, root);
        if (!done) {
            fail(context, kCouldNotRun, done.error().message);
            continue;
        }
        out << "done" << (one.then.empty() ? "" : "; still to do: " + one.then) << '\n';
    }
}

void print(Context& context, const DoctorOptions& words, const doctor::Report& report,
           double seconds) {
    if (words.format == "json" || words.format == "yaml") {
        print_answer(context.out, "DoctorReport", doctor::to_value(report), words.format);
    } else if (words.format == "short") {
        doctor::print_short(context.out, report);
    } else if (words.format == "junit") {
        doctor::print_junit(context.out, report);
    } else if (words.format == "markdown") {
        doctor::print_markdown(context.out, report);
    } else {
        const bool unicode = context.out_is_terminal && speaks_utf8();
        doctor::print_text(context.out, report,
                           {.colour = context.colour,
                            .unicode = unicode,
                            .verbose = words.verbose,
                            .seconds = seconds});
    }
}

void run(Context& context, DoctorOptions& words) {
    if (!words.ask_nvml.empty()) {
        context.out << doctor::answer_nvml_question(words.ask_nvml);
        return;
    }
    if (!words.explain.empty()) return explain(context, words.explain, words.format);
    if (!target_of(context, words, true) || !complete(context, words.slow, words.target)) return;
    const auto begin = std::chrono::steady_clock::now();
    const auto tree = gather(context, words);
    if (!tree) return;
    if (!words.save.empty() && !save_tree(context, *tree, words.target, words.save)) return;
    const bool cluster = tree->has_beneath("k8s") && tree->hosts().empty() &&
                         !tree->has_beneath("/proc") && !tree->has_beneath("/sys");
    const auto target = target_of(context, words, cluster);
    const std::string node =
        target->kind == doctor::Target::Kind::kNode ? target->name : std::string();
    const auto facts = doctor::facts_of(tree->of_host(node), *target);
    for (const std::string& problem : facts.cluster.problems) {
        context.err << "aliquot: not read: " << problem << '\n';
    }
    using Kind = doctor::Target::Kind;
    if ((target->kind == Kind::kCluster || target->kind == Kind::kPod) && !facts.cluster.known) {
        return fail(context, kCouldNotRun,
                    "no cluster to look at: nothing of it could be read; expected an API server "
                    "that lets us list nodes and pods, or k8s/*.json under --root");
    }
    if (tree->cut) {
        context.err << "aliquot: " << tree->name
                    << ": ends in the middle; what is missing is unknown, not absent\n";
    }
    if (!is_there(context, *tree, facts) || !uses_a_gpu(context, facts)) return;
    const auto report = doctor::judge(facts, words.before_install ? doctor::Scope::kBeforeInstall
                                             : words.slow.asked   ? doctor::Scope::kSlow
                                                                  : doctor::Scope::kAll);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (!words.svg.empty()) write_svg(context, words.svg, doctor::drawing(report));
    if (prints_beside(words.svg)) print(context, words, report, took.count());
    const bool warned = words.fail_on == "warning" && report.count(doctor::Outcome::kWarning) > 0;
    if (!report.success() || warned) context.exit_code = kFindings;
    if (words.fix) apply_fixes(context, words, report, facts);
}

}  // namespace

void add_doctor_command(command_line::Command& program, Context& context) {
    command_line::Command* command = program.add_subcommand(
        "doctor",
        "Find which layer between GPU and pod is broken, why, and how to fix it\n\n"
        "Examines the PCI bus, the driver, NVML, the container runtime, the kubelet, the device\n"
        "plugin, the node, scheduling, containers and speed, in this order; the first broken layer "
        "is\n"
        "the root cause. Needs no root; what it cannot read is 'unknown', not bad.\n"
        "TARGET: host (this machine), node NODE, pod NAMESPACE/POD (or POD with -n), cluster.\n"
        "The cluster is asked through its API server, with the rights that you have.\n"
        "Exit code 0: nothing failed; 1: something failed; 2: usage error or invalid file; 3: "
        "could not run.");
    command->footer(
        "aliquot doctor host\n"
        "aliquot doctor cluster --context prod\n"
        "aliquot doctor pod train -n default -o short    # why is it pending?\n"
        "aliquot doctor pod train -n default --slow      # why is it slow?\n"
        "aliquot doctor host --save node.tgz        # for somebody else to judge\n"
        "aliquot doctor --bundle node.tgz host\n"
        "aliquot doctor --root ./host-tree host -o json\n"
        "aliquot doctor --explain DRV003");
    auto words = std::make_shared<DoctorOptions>();
    command
        ->add_option("TARGET", words->target, "host, node NODE, pod NAMESPACE/POD or cluster",
                     "...")
        ->expected(0, 2);
    auto* const root = command->add_option(
        "--root", words->root, "Judge the host whose root (or saved tree) is DIR", "DIR");
    auto* const facts =
        command->add_option("--facts", words->facts, "Judge facts that --save wrote", "FILE")
            ->excludes(root);
    command->add_option("--bundle", words->bundle, "Judge a saved bundle (.tgz)", "FILE")
        ->excludes(root)
        ->excludes(facts);
    command->add_option("--save", words->save,
                        "Save what was read, redacted: .tgz is a bundle, else JSON facts", "FILE");
    add_slow_flags(*command, words->slow);
    add_cluster_flags(*command, words->cluster);
    add_namespace_flag(*command, words->cluster, "Namespace of the pod that is asked about");
    command->add_flag("--pre", words->before_install, "Only what must hold before an installation");
    command->add_option("--explain", words->explain, "Explain what a check examines, and why", "ID")
        ->complete_by("checks");
    command->add_flag("-v,--verbose", words->verbose, "Show every check, also those that are ok");
    command->add_flag("--fix", words->fix, "Offer safe changes, each with its diff");
    command->add_flag("-y,--yes", words->yes, "With --fix: apply them without asking");
    command
        ->add_option("--fail-on", words->fail_on, "The lowest severity that sets exit code 1",
                     "SEVERITY (error, warning)")
        ->one_of({"error", "warning"});
    add_output(*command, words->format, {"text", "short"}, {"junit", "markdown"});
    add_svg_flag(*command, words->svg, "the chain of layers as a picture");
    command->add_option("--ask-nvml", words->ask_nvml)->hidden();
    command->callback([words, &context] { run(context, *words); });
}

}  // namespace aliquot::cli
