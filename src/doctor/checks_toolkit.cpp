// SPDX-License-Identifier: Apache-2.0
// NVIDIA's container toolkit, CDI specs, RuntimeClasses.
#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "catalog/version.h"
#include "doctor/cdi_fix.h"
#include "doctor/check.h"
#include "doctor/nodes.h"

namespace aliquot::doctor {
namespace {

Verdict judge_retired(const Facts& facts) {
    if (facts.toolkit.nvidia_docker2) {
        auto verdict = warning("nvidia-docker2 is a retired meta package.");
        verdict.because(facts.toolkit.docker2_place, "nvidia-container-toolkit");
        verdict.fix("sudo apt install nvidia-container-toolkit && sudo apt remove nvidia-docker2");
        return verdict;
    }
    if (facts.toolkit.version.empty() && !facts.toolkit.on_host && !facts.toolkit.from_operator) {
        return unknown("no container toolkit was seen");
    }
    return ok("container toolkit " + facts.toolkit.version);
}

Location place_of(const ToolkitFacts& toolkit, const Value& node, std::string text) {
    return {toolkit.config_path, node.mark.line, std::move(text)};
}

Verdict judge_settings(const Facts& facts) {
    const ToolkitFacts& toolkit = facts.toolkit;
    if (!toolkit.config.ok())
        return unknown("/etc/nvidia-container-runtime/config.toml is not there");
    const Value& root = toolkit.config.value.root;
    const Value* const mode = at_path(root, {"nvidia-container-runtime", "mode"});
    constexpr std::array<std::string_view, 5> kModes{"auto", "legacy", "cdi", "jit-cdi", "csv"};
    if (mode != nullptr && std::ranges::find(kModes, mode->scalar) == kModes.end()) {
        auto verdict =
            failed("The toolkit's mode '" + mode->scalar + "' is not one that it knows.");
        verdict.because(place_of(toolkit, *mode, "mode = \"" + mode->scalar + "\""),
                        "auto, legacy, cdi or jit-cdi");
        verdict.fix("sudo nvidia-ctk config --in-place --set nvidia-container-runtime.mode=auto");
        return verdict;
    }
    const Value* const cgroups = at_path(root, {"nvidia-container-cli", "no-cgroups"});
    if (cgroups != nullptr && is_true(cgroups)) {
        auto verdict = failed(
            "no-cgroups = true: containers get the GPU's files but not the right to "
            "open them (that is for rootless runtimes).");
        verdict.because(place_of(toolkit, *cgroups, "no-cgroups = true"), "false");
        verdict.fix(
            "sudo nvidia-ctk config --in-place --set nvidia-container-cli.no-cgroups=false");
        return verdict;
    }
    const Value* const ldconfig = at_path(root, {"nvidia-container-cli", "ldconfig"});
    if (ldconfig != nullptr && !ldconfig->scalar.empty()) {
        std::string_view path = ldconfig->scalar;
        if (path.starts_with('@')) path.remove_prefix(1);
        const bool ubuntu = facts.tree.text("/etc/os-release") != nullptr &&
                            contains_folded(*facts.tree.text("/etc/os-release"), "ID=ubuntu");
        const bool looked =
            facts.tree.complete && facts.tree.has(path) == false &&
            (facts.tree.has_beneath("/usr/sbin") || facts.tree.has_beneath("/sbin"));
        if ((path == "/sbin/ldconfig" && ubuntu) || (looked && path.starts_with("/opt"))) {
            auto verdict = warning("ldconfig = " + ldconfig->scalar +
                                   ": on Ubuntu that is a script; libraries may be missing in "
                                   "containers.");
            verdict.because(place_of(toolkit, *ldconfig, "ldconfig = " + ldconfig->scalar),
                            "@/sbin/ldconfig.real");
            verdict.fix(
                "sudo nvidia-ctk config --in-place --set "
                "nvidia-container-cli.ldconfig=@/sbin/ldconfig.real");
            return verdict;
        }
    }
    const Value* const volume = root.find("accept-nvidia-visible-devices-as-volume-mounts");
    const Value* const envvar = root.find("accept-nvidia-visible-devices-envvar-when-unprivileged");
    if (envvar != nullptr && text_of(envvar) == "false" &&
        !(volume != nullptr && is_true(volume))) {
        auto verdict = warning(
            "The toolkit ignores NVIDIA_VISIBLE_DEVICES of unprivileged containers "
            "and accepts no volume mounts: the plugin's strategy envvar gives no "
            "GPU.");
        verdict.because(place_of(toolkit, *envvar,
                                 "accept-nvidia-visible-devices-envvar-when-unprivileged = false"),
                        "accept-nvidia-visible-devices-as-volume-mounts = true beside it");
        verdict.fix(
            "sudo nvidia-ctk config --in-place --set "
            "accept-nvidia-visible-devices-as-volume-mounts=true");
        verdict.note(
            "And run the device plugin with DEVICE_LIST_STRATEGY=volume-mounts or cdi-cri.");
        return verdict;
    }
    return ok("the toolkit's settings are sound (mode " +
              (mode == nullptr ? std::string("auto") : mode->scalar) + ")");
}

Verdict judge_two_toolkits(const Facts& facts) {
    const bool pod = std::ranges::any_of(facts.cluster.all("Pod"), [](const Object& one) {
        return one.name.contains("container-toolkit-daemonset") && !is_finished(one);
    });
    const bool operated = facts.toolkit.from_operator || pod;
    if (!facts.toolkit.on_host || !operated) return ok("one container toolkit at most");
    auto verdict = warning(
        "Two toolkits edit the same runtime configuration: the host's package and "
        "gpu-operator's.");
    verdict.because(Evidence{.path = "/usr/bin/nvidia-container-runtime", .value = "present"});
    verdict.because(Evidence{.path = "/usr/local/nvidia/toolkit", .value = "present"});
    verdict.fix(
        "helm upgrade gpu-operator nvidia/gpu-operator -n gpu-operator --reuse-values --set "
        "toolkit.enabled=false",
        Risk::kRestartPods);
    return verdict;
}

Verdict judge_escapes(const Facts& facts) {
    const std::string& version = facts.toolkit.version;
    if (version.empty()) return unknown("the version of the container toolkit is not known");
    const char* which = nullptr;
    if (catalog::compare_versions(version, "1.17.8") < 0) which = "CVE-2025-23266";
    if (catalog::compare_versions(version, "1.16.2") < 0)
        which = "CVE-2024-0132 and CVE-2025-23266";
    if (which == nullptr) return ok("container toolkit " + version + " has no known escape");
    auto verdict = warning("Container toolkit " + version +
                           " lets a container escape to the host (" + which + ").");
    verdict.because(facts.toolkit.version_place, "1.17.8 or newer");
    verdict.fix("sudo apt update && sudo apt install --only-upgrade nvidia-container-toolkit");
    return verdict;
}

/// Whether somebody asks for CDI: the plugin's strategy, the toolkit's mode, or an error text.
std::string who_wants_cdi(const Facts& facts, Location& place) {
    if (facts.toolkit.config.ok()) {
        const Value* const mode =
            at_path(facts.toolkit.config.value.root, {"nvidia-container-runtime", "mode"});
        if (mode != nullptr && mode->scalar == "cdi") {
            place = place_of(facts.toolkit, *mode, "mode = \"cdi\"");
            return "the container toolkit (mode cdi)";
        }
    }
    for (const char* const kind : {"Pod", "DaemonSet"}) {
        for (const Object& object : facts.cluster.all(kind)) {
            const Value* spec = at_path(object.body, {"spec"});
            if (std::string_view(kind) == "DaemonSet") spec = at_path(spec, {"template", "spec"});
            for (const Value& container : items_at(spec, {"containers"})) {
                const std::string strategy = environment_of(container, "DEVICE_LIST_STRATEGY");
                if (!strategy.contains("cdi")) continue;
                place = {object.path, container.mark.line, "DEVICE_LIST_STRATEGY=" + strategy};
                return "the device plugin (DEVICE_LIST_STRATEGY=" + strategy + ")";
            }
        }
    }
    return {};
}

Verdict judge_spec_there(const Facts& facts) {
    for (const CdiSpec& spec : facts.cdi) {
        if (spec.problem.empty()) continue;
        auto verdict =
            failed("The CDI spec " + spec.place.path + " cannot be read: " + spec.problem);
        verdict.because(spec.place, "a CDI spec");
        fix_spec(verdict, facts, spec.place.path);
        return verdict;
    }
    if (!facts.cdi.empty()) return ok("CDI spec " + facts.cdi.front().place.path);
    Location place;
    const std::string who = who_wants_cdi(facts, place);
    if (who.empty()) return not_here("nobody asks for CDI");
    const bool looked = facts.tree.complete || facts.tree.has_beneath("/etc");
    if (!looked) return unknown("/etc/cdi and /var/run/cdi are not part of what was given");
    auto verdict = failed("CDI is requested by " + who + ", and no spec exists.");
    verdict.because(place);
    verdict.because(Evidence{
        .path = "/etc/cdi, /var/run/cdi", .value = "no NVIDIA spec", .expected = "nvidia.yaml"});
    fix_spec(verdict, facts, {});
    return verdict;
}

Verdict judge_spec_fresh(const Facts& facts) {
    if (facts.cdi.empty()) return not_here("no CDI spec");
    const std::string& driver = facts.host.driver.value;
    for (const CdiSpec& spec : facts.cdi) {
        if (!spec.driver.empty() && !driver.empty() && spec.driver != driver) {
            auto verdict = failed("The CDI spec is stale: it names driver " + spec.driver +
                                  ", driver " + driver + " is loaded. Containers will not start.");
            verdict.because(spec.driver_place, "files of driver " + driver);
            verdict.because(facts.host.driver.place);
            fix_spec(verdict, facts, spec.place.path);
            verdict.note(
                "nvidia-cdi-refresh does not notice the removal of a driver or a change of "
                "MIG devices.");
            return verdict;
        }
    }
    const bool dev_known = facts.tree.complete || !facts.tree.paths("/dev/nvidia*").empty();
    for (const CdiSpec& spec : facts.cdi) {
        for (const Location& node : spec.device_nodes) {
            if (!dev_known || !node.text.starts_with("/dev/nvidia")) continue;
            // Made on demand, or of a kind that this tree may not list.
            if (node.text.contains("modeset") || node.text.contains("uvm-tools") ||
                node.text.contains("caps")) {
                continue;
            }
            if (facts.tree.has(node.text)) continue;
            auto verdict = failed("The CDI spec names " + node.text +
                                  ", which does not exist: it is "
                                  "from before a GPU went away.");
            verdict.because(node, "a device node that exists");
            fix_spec(verdict, facts, spec.place.path);
            return verdict;
        }
    }
    return ok("the CDI spec fits the loaded driver");
}

Verdict judge_spec_twice(const Facts& facts) {
    std::map<std::string, const CdiSpec*> seen;
    for (const CdiSpec& spec : facts.cdi) {
        for (const std::string& device : spec.devices) {
            const std::string name = spec.kind + "=" + device;
            const auto [at, added] = seen.emplace(name, &spec);
            if (added || at->second == &spec) continue;
            // Of two directories the later one wins; in one directory they conflict.
            auto verdict =
                failed("Conflicting CDI devices: " + name + " is in " + at->second->place.path +
                       " and in " + spec.place.path + "; the runtime refuses both.");
            verdict.because(at->second->place);
            verdict.because(spec.place, "one file per device name");
            verdict.fix("sudo rm " + at->second->place.path);
            verdict.as(Confidence::kLikely);
            return verdict;
        }
    }
    return facts.cdi.empty() ? not_here("no CDI spec") : ok("every CDI device has one definition");
}

Verdict judge_unresolved(const Facts& facts) {
    for (const Said& said : facts.cluster.said) {
        const std::string_view names = after(said.text, "unresolvable CDI devices ");
        if (names.empty()) continue;
        const std::string wanted(names.substr(0, names.find_first_of(" :\n\"")));
        std::vector<std::string> held;
        for (const CdiSpec& spec : facts.cdi) {
            held.push_back(spec.kind + " {" + join(spec.devices) + "}");
        }
        auto verdict = failed("Unresolvable CDI device " + wanted + " of pod " + said.pod + ".");
        verdict.because(Evidence{.path = said.path,
                                 .line = said.line,
                                 .value = said.text,
                                 .expected = held.empty() ? "a name of a spec" : join(held)});
        if (wanted.starts_with("management.nvidia.com")) {
            verdict.note(
                "management.nvidia.com only holds `all`: a pod that gets UUIDs needs "
                "nvidia.com/gpu. Use the plugin's strategy cdi-cri, or do not set "
                "runtimeClassName nvidia-cdi.");
        }
        fix_spec(verdict, facts, {});
        return verdict;
    }
    if (facts.cluster.said.empty()) return unknown("no events or logs of pods were read");
    return ok("no pod asks for a CDI device that is not there");
}

Verdict judge_spec_version(const Facts& facts) {
    if (facts.cdi.empty()) return not_here("no CDI spec");
    const RuntimeFacts& runtime = facts.runtime;
    if (!runtime.found() || runtime.version.empty())
        return unknown("the runtime's version is not known");
    const char* least = runtime.kind == RuntimeFacts::Kind::kContainerd ? "1.7.16"
                        : runtime.kind == RuntimeFacts::Kind::kDocker   ? "26.1"
                                                                        : "1.30";
    for (const CdiSpec& spec : facts.cdi) {
        const bool newer = catalog::compare_versions(spec.version, "0.7.0") >= 0;
        if (!newer || catalog::compare_versions(runtime.version, least) >= 0) continue;
        auto verdict =
            failed("The CDI spec is of version " + spec.version + "; " + runtime.flavour + " " +
                   runtime.version + " cannot read it (needs " + least + ").");
        verdict.because(Evidence{.path = spec.place.path,
                                 .line = 1,
                                 .value = "cdiVersion: " + spec.version,
                                 .expected = "0.6.0, or a newer runtime"});
        fix_spec(verdict, facts, spec.place.path,
                 "--feature-flag=no-additional-gids-for-device-nodes ");
        return verdict;
    }
    return ok("the runtime reads CDI specs of this version");
}

Verdict no_such_class(const Object& object, const Value& name) {
    auto verdict = failed(object.kind + " " + object.id() + " names RuntimeClass " + name.scalar +
                          ", which does not exist.");
    verdict.because(Location{object.path, name.mark.line, "runtimeClassName: " + name.scalar},
                    "an existing RuntimeClass");
    verdict.fix(
        "kubectl create -f - <<< '{\"apiVersion\":\"node.k8s.io/v1\",\"kind\":"
        "\"RuntimeClass\",\"metadata\":{\"name\":\"" +
        name.scalar + "\"},\"handler\":\"nvidia\"}'");
    return verdict;
}

Verdict judge_class(const Facts& facts) {
    const auto& cluster = facts.cluster;
    if (!cluster.asked("RuntimeClass")) return not_read(facts, {"RuntimeClass"});
    for (const Object& object : cluster.all("RuntimeClass")) {
        const std::string handler = text_at(object.body, {"handler"});
        if (!handler.starts_with("nvidia") || !facts.runtime.found()) continue;
        const auto& handlers = facts.runtime.handlers;
        if (handlers.empty() ||
            std::ranges::find(handlers, handler, &RuntimeFacts::Handler::name) != handlers.end()) {
            continue;
        }
        std::vector<std::string> names;
        names.reserve(handlers.size());
        for (const auto& one : handlers) names.push_back(one.name);
        auto verdict =
            failed("RuntimeClass " + object.name + " names the handler " + handler +
                   "; this node's " + facts.runtime.flavour + " only has " + join(names) + ".");
        verdict.because(
            Evidence{.path = object.path, .value = "handler: " + handler, .expected = join(names)});
        verdict.fix(
            "kubectl create -f - <<< '{\"apiVersion\":\"node.k8s.io/v1\",\"kind\":"
            "\"RuntimeClass\",\"metadata\":{\"name\":\"" +
            object.name + "-runtime\"},\"handler\":\"" + names.back() + "\"}'");
        return verdict;
    }
    // A pod of a missing class is never made: mostly only its owner is there to be seen.
    for (const char* const kind : {"Pod", "DaemonSet", "Deployment", "StatefulSet", "Job"}) {
        const bool is_pod = std::string_view(kind) == "Pod";
        for (const Object& object : cluster.all(kind)) {
            const Value* const name =
                is_pod ? at_path(object.body, {"spec", "runtimeClassName"})
                       : at_path(object.body, {"spec", "template", "spec", "runtimeClassName"});
            if (name == nullptr || name->scalar.empty() ||
                cluster.find("RuntimeClass", "", name->scalar) != nullptr) {
                continue;
            }
            return no_such_class(object, *name);
        }
    }
    return ok("RuntimeClasses and handlers fit");
}

Verdict judge_class_placement(const Facts& facts) {
    const auto& cluster = facts.cluster;
    if (!cluster.asked("RuntimeClass")) return not_read(facts, {"RuntimeClass"});
    const auto& nodes = cluster.all("Node");
    for (const Object& object : cluster.all("RuntimeClass")) {
        const auto& wanted = entries_at(object.body, {"scheduling", "nodeSelector"});
        if (wanted.empty() || nodes.empty()) continue;
        const bool any = std::ranges::any_of(nodes, [&](const Object& node) {
            const auto labels = labels_of(node);
            return std::ranges::all_of(wanted, [&](const Value::Entry& entry) {
                const auto found = labels.find(entry.first.scalar);
                return found != labels.end() && found->second == entry.second.scalar;
            });
        });
        if (any) continue;
        const auto& first = wanted.front();
        auto verdict =
            failed("RuntimeClass " + object.name + " wants nodes with " + first.first.scalar + "=" +
                   first.second.scalar + "; no node has it, so its pods go nowhere.");
        verdict.because(Location{object.path, first.first.mark.line,
                                 first.first.scalar + ": " + first.second.scalar},
                        "a label that some node has");
        verdict.fix("kubectl label node NODE " + first.first.scalar + "=" + first.second.scalar);
        return verdict;
    }
    return ok("RuntimeClasses leave their pods a node");
}

constexpr std::string_view kBroken = "RT001 RT002 RT003 RT004 RT005 RT008 RT010";

constexpr Check kToolkitChecks[] = {
    {"CTK001", Level::kRuntime, false, "", judge_retired},
    {"CTK002", Level::kRuntime, false, kBroken, judge_settings},
    {"CTK003", Level::kRuntime, false, "", judge_two_toolkits},
    {"CTK004", Level::kRuntime, false, "", judge_escapes},
    {"CDI001", Level::kRuntime, true, kBroken, judge_spec_there},
    {"CDI002", Level::kRuntime, true, "RT004 RT005 CDI001", judge_spec_fresh},
    {"CDI003", Level::kRuntime, false, "CDI001 CDI002", judge_spec_twice},
    {"CDI004", Level::kRuntime, false, "CDI001 CDI002 CDI003", judge_unresolved},
    {"CDI005", Level::kRuntime, false, "CDI001 CDI002", judge_spec_version},
    {"RC001", Level::kRuntime, false, kBroken, judge_class, true},
    {"RC002", Level::kRuntime, false, kBroken, judge_class_placement, true},
};

}  // namespace

std::span<const Check> toolkit_checks() { return kToolkitChecks; }

}  // namespace aliquot::doctor
