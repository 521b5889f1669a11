// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "doctor/check.h"
#include "doctor/text.h"

namespace aliquot::doctor {
namespace {

using Handler = RuntimeFacts::Handler;

constexpr std::string_view kNoRuntime = "no container runtime's configuration was found";

std::string main_file(const RuntimeFacts& runtime) {
    return runtime.files.empty() ? runtime.edit : runtime.files.front().path;
}

bool has_nvidia_spec(const Facts& facts) {
    return std::ranges::any_of(facts.cdi, [](const CdiSpec& spec) {
        return spec.problem.empty() && spec.kind.ends_with("/gpu");
    });
}

bool cdi_usable(const Facts& facts) {
    return facts.runtime.cdi_enabled.value_or(false) && has_nvidia_spec(facts);
}

/// The lines to write for this runtime.
std::string entry_text(const RuntimeFacts& runtime) {
    if (runtime.kind == RuntimeFacts::Kind::kCrio) {
        return "[crio.runtime.runtimes.nvidia]\n  runtime_path = "
               "\"/usr/bin/nvidia-container-runtime\"\n"
               "  runtime_type = \"oci\"";
    }
    if (runtime.kind == RuntimeFacts::Kind::kDocker) {
        return R"("runtimes": {"nvidia": {"path": "nvidia-container-runtime", "args": []}})";
    }
    const bool three = !runtime.files.empty() && runtime.files.front().version >= 3;
    const std::string table =
        three ? "[plugins.\"io.containerd.cri.v1.runtime\".containerd.runtimes.nvidia"
              : "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.nvidia";
    // A template that does not begin with the base is all that containerd gets.
    const bool rancher = runtime.flavour == "k3s" || runtime.flavour == "RKE2";
    return (rancher ? "{{ template \"base\" . }}\n" : "") + table +
           "]\n  runtime_type = \"io.containerd.runc.v2\"\n" + table +
           ".options]\n  BinaryName = \"/usr/bin/nvidia-container-runtime\"\n  SystemdCgroup = " +
           (runtime.systemd_cgroup.value_or(true) ? "true" : "false");
}

std::string configure_command(const RuntimeFacts& runtime) {
    if (runtime.kind == RuntimeFacts::Kind::kDocker) {
        return "sudo nvidia-ctk runtime configure --runtime=docker && sudo " + runtime.restart;
    }
    if (runtime.kind == RuntimeFacts::Kind::kCrio) {
        return "sudo nvidia-ctk runtime configure --runtime=crio && sudo " + runtime.restart;
    }
    if (runtime.flavour == "MicroK8s") return "sudo microk8s enable nvidia";
    if (runtime.flavour == "k3s" || runtime.flavour == "RKE2") {
        return "sudo apt install nvidia-container-toolkit && sudo " + runtime.restart + "   # " +
               runtime.flavour + " finds the runtime by itself when it starts";
    }
    return "sudo nvidia-ctk runtime configure --runtime=containerd && sudo " + runtime.restart;
}

Verdict judge_template_words(const Facts& facts) {
    for (const auto& file : facts.runtime.files) {
        // A drop-in that nobody imports yet is one import away from being live.
        const bool drop_in = file.path.contains("/conf.d/") && file.path.ends_with(".toml");
        if (!file.effective && !drop_in) continue;
        const std::string* const text = facts.tree.text(file.path);
        if (text == nullptr) continue;
        Location place;
        std::string word;
        for_each_line(*text, [&](std::string_view line, unsigned number) {
            const std::string_view code = trim(line.substr(0, line.find('#')));
            const auto dollar = code.find("${");
            const auto braces = code.find("{{");
            const auto at = std::min(dollar, braces);
            if (at == std::string_view::npos || !word.empty()) return;
            const auto end = code.find('}', at);
            word = std::string(code.substr(at, end == std::string_view::npos ? end : end - at + 1));
            if (braces == at) word = clip(code.substr(at), 40);
            place = place_in(file.path, number, line);
        });
        if (word.empty()) continue;
        const std::string short_name = file.path.substr(file.path.rfind('/') + 1);
        auto verdict =
            failed(concat({"A template word (", word, ") was copied unexpanded into ", short_name,
                           "; ", facts.runtime.flavour, " will fail with it."}));
        verdict.because(place, word.contains("SNAPSHOTTER") ? "a real snapshotter name (overlayfs)"
                                                            : "a value");
        if (facts.runtime.files.front().path == file.path) {
            verdict.fix("sudo nvidia-ctk runtime configure --runtime=containerd --config=" +
                            file.path + " && sudo " + facts.runtime.restart,
                        Risk::kRestartRuntime);
            verdict.note(
                "Write the file anew from the one that the runtime generated, not from its "
                "template.");
        } else {
            verdict.fix("sudo rm " + file.path + " && sudo " + facts.runtime.restart,
                        Risk::kRestartRuntime);
            verdict.note(
                "Then run nvidia-ctk on the generated file (containerd.toml), not on its "
                "template.");
        }
        return verdict;
    }
    return facts.runtime.found() ? ok("no template words in the live configuration")
                                 : unknown(std::string(kNoRuntime));
}

Verdict judge_cri_disabled(const Facts& facts) {
    for (const auto& file : facts.runtime.files) {
        if (!file.effective) continue;
        for (const Value& plugin : items_at(file.toml.root, {"disabled_plugins"})) {
            if (plugin.scalar != "cri" && plugin.scalar != "io.containerd.grpc.v1.cri") continue;
            auto verdict = failed(
                "The CRI plugin is disabled in containerd (the default of the "
                "docker.io package): the kubelet cannot use it.");
            verdict.because(Location{file.path, plugin.mark.line, "disabled_plugins = [\"cri\"]"},
                            "disabled_plugins = []");
            verdict.fix("sudo sed -i 's/^disabled_plugins.*/disabled_plugins = []/' " + file.path +
                            " && sudo " + facts.runtime.restart,
                        Risk::kRestartRuntime);
            return verdict;
        }
    }
    return facts.runtime.found() ? ok("the CRI plugin is on") : unknown(std::string(kNoRuntime));
}

Verdict judge_wrong_file(const Facts& facts) {
    const RuntimeFacts& runtime = facts.runtime;
    if (!runtime.found()) return unknown(std::string(kNoRuntime));
    if (runtime.nvidia_handler() != nullptr || cdi_usable(facts)) {
        return ok("the nvidia runtime stands in a file that is read");
    }
    for (const Handler& handler : runtime.elsewhere) {
        const bool nvidia = handler.name == "nvidia" || handler.binary.contains("nvidia-container");
        // docker's file is RT010, a template that was not used yet is no mistake of its own.
        if (!nvidia || handler.place.path == "/etc/docker/daemon.json") continue;
        const auto file =
            std::ranges::find(runtime.files, handler.place.path, &RuntimeFacts::File::path);
        const bool effective = file != runtime.files.end() && file->effective;
        std::string message;
        if (effective) {
            message = handler.place.path +
                      " defines the runtime nvidia under the key of another "
                      "version (version = " +
                      std::to_string(file->version) + " reads " +
                      (file->version >= 3 ? "io.containerd.cri.v1.runtime"
                                          : "io.containerd.grpc.v1.cri") +
                      ").";
        } else {
            message = handler.place.path + " has the runtime nvidia, but this node runs " +
                      runtime.flavour + ", which reads " + main_file(runtime) + ".";
        }
        auto verdict = failed(message);
        verdict.because(handler.place, "in " + main_file(runtime) + " or a file that it imports");
        if (!runtime.files.empty()) {
            verdict.because(Evidence{.path = main_file(runtime), .value = "no runtime nvidia"});
        }
        verdict.edit(runtime.edit + ":\n" + entry_text(runtime), Risk::kRestartRuntime);
        verdict.fix("sudo " + runtime.restart, Risk::kRestartRuntime);
        return verdict;
    }
    return ok("no stray definition of the nvidia runtime");
}

Verdict judge_handler(const Facts& facts) {
    const RuntimeFacts& runtime = facts.runtime;
    if (!runtime.found() || (runtime.files.empty() && runtime.handlers.empty() &&
                             runtime.kind != RuntimeFacts::Kind::kDocker)) {
        return unknown(std::string(kNoRuntime));
    }
    if (const Handler* const handler = runtime.nvidia_handler()) {
        return ok(runtime.flavour + " has the runtime " + handler->name +
                  (handler->binary.empty() ? "" : " (" + handler->binary + ")"));
    }
    if (cdi_usable(facts)) return ok(runtime.flavour + " uses CDI; no nvidia runtime is needed");
    auto verdict =
        failed(runtime.flavour +
               " has no runtime `nvidia`: pods with runtimeClassName nvidia "
               "fail with 'no runtime for \"nvidia\" is configured', others get no GPU.");
    verdict.because(Evidence{.path = main_file(runtime),
                             .value = runtime.handlers.empty()
                                          ? "no runtimes"
                                          : "runtimes: " +
                                                [&] {
                                                    std::vector<std::string> names;
                                                    for (const Handler& one : runtime.handlers) {
                                                        names.push_back(one.name);
                                                    }
                                                    return join(names);
                                                }(),
                             .expected = "a runtime nvidia, or CDI with a spec"});
    if (has_nvidia_spec(facts)) {
        verdict.because(runtime.cdi_place, "enable_cdi = true");
    }
    verdict.edit(runtime.edit + ":\n" + entry_text(runtime), Risk::kRestartRuntime);
    verdict.fix(configure_command(runtime), Risk::kRestartRuntime);
    return verdict;
}

Verdict judge_binary(const Facts& facts) {
    const Handler* const handler = facts.runtime.nvidia_handler();
    if (handler == nullptr) return not_here("no nvidia runtime is configured");
    if (handler->binary.empty()) return ok("the runtime's program is found by its name");
    if (!handler->binary.starts_with('/')) return ok(handler->binary + " is searched in PATH");
    if (facts.tree.has(handler->binary)) return ok(handler->binary + " is there");
    // Who made this tree by hand may not have thought of programs.
    const std::string top = handler->binary.substr(0, handler->binary.find('/', 5));
    const std::string folder = handler->binary.substr(0, handler->binary.rfind('/'));
    const bool looked = facts.tree.complete || facts.tree.has_beneath(folder) ||
                        facts.tree.has_beneath(top) || facts.tree.has_beneath("/usr/bin");
    if (!looked) return unknown(folder + " is not part of what was given");
    auto verdict = failed("Runtime `" + handler->name + "` points to " + handler->binary +
                          ", which is missing.");
    verdict.because(handler->place, "a program that exists");
    verdict.because(
        Evidence{.path = handler->binary, .value = "not there", .expected = "an executable file"});
    if (handler->binary.starts_with("/usr/local/nvidia")) {
        verdict.note(
            "That path belongs to gpu-operator's toolkit; after it was removed the entry "
            "stayed. Install the toolkit again, or remove the entry from " +
            handler->place.path + ".");
    }
    verdict.fix("sudo apt install nvidia-container-toolkit && " + configure_command(facts.runtime),
                Risk::kRestartRuntime);
    return verdict;
}

Verdict judge_restart_pending(const Facts& facts) {
    const RuntimeFacts& runtime = facts.runtime;
    if (!runtime.found()) return unknown(std::string(kNoRuntime));
    const char* const program = runtime.kind == RuntimeFacts::Kind::kCrio     ? "crio"
                                : runtime.kind == RuntimeFacts::Kind::kDocker ? "dockerd"
                                                                              : "containerd";
    std::int64_t started = 0;
    for (const Program& one : facts.host.programs) {
        if (one.name == program) started = std::max(started, one.started_s);
    }
    if (started == 0) return unknown(std::string("when ") + program + " started is not known");
    for (const auto& file : runtime.files) {
        const Entry* const entry = facts.tree.find(file.path);
        // A file that the runtime makes at its start is as old as the process.
        if (!file.effective || entry == nullptr || entry->modified_s <= started + 60) continue;
        auto verdict = warning(file.path + " was changed after " + program +
                               " started: a restart is pending.");
        verdict.because(Evidence{.path = file.path,
                                 .value = "changed " +
                                          std::to_string((entry->modified_s - started) / 60) +
                                          " minutes after the start",
                                 .expected = "older than the process"});
        verdict.fix("sudo " + runtime.restart, Risk::kRestartRuntime);
        return verdict;
    }
    return ok("the runtime started after its last change");
}

Verdict judge_default(const Facts& facts) {
    const RuntimeFacts& runtime = facts.runtime;
    if (!runtime.found()) return unknown(std::string(kNoRuntime));
    if (runtime.nvidia_handler() == nullptr) return not_here("no nvidia runtime is configured");
    if (runtime.default_handler.starts_with("nvidia")) return ok("nvidia is the default runtime");
    if (cdi_usable(facts)) return ok("CDI gives pods their GPU");
    bool plugin = false;
    for (const Object& pod : facts.cluster.all("Pod")) {
        if (!is_plugin_name(pod.name) || pod.name.contains("aliquot")) continue;
        plugin = true;
        if (!text_at(pod.body, {"spec", "runtimeClassName"}).empty()) {
            return ok("the device plugin names its RuntimeClass");
        }
        // Not in need of the runtime: it reaches the driver by mounts.
        if (pod.name.contains("gke")) return ok("the device plugin of GKE brings its own mounts");
    }
    if (!plugin) return unknown("no device plugin pod was seen");
    auto verdict =
        failed("The device plugin pod runs under " +
               (runtime.default_handler.empty() ? "runc" : runtime.default_handler) +
               " and sees no GPU: nvidia is not the default runtime and the pod names no "
               "RuntimeClass.");
    verdict.because(runtime.default_handler.empty()
                        ? Location{main_file(runtime), 0, "no default_runtime_name"}
                        : runtime.default_place,
                    "default_runtime_name = \"nvidia\", or runtimeClassName: nvidia in the pod");
    verdict.fix(
        "helm upgrade nvidia-device-plugin nvdp/nvidia-device-plugin -n nvidia-device-plugin "
        "--reuse-values --set runtimeClassName=nvidia",
        Risk::kRestartPods);
    return verdict;
}

Verdict judge_runtime_type(const Facts& facts) {
    const RuntimeFacts& runtime = facts.runtime;
    if (runtime.kind != RuntimeFacts::Kind::kContainerd) return not_here("no containerd");
    for (const Handler& handler : runtime.handlers) {
        const bool nvidia = handler.name.starts_with("nvidia");
        if (!nvidia || !handler.type.empty()) continue;
        const auto file =
            std::ranges::find(runtime.files, handler.place.path, &RuntimeFacts::File::path);
        if (file == runtime.files.end() || file->version < 2) continue;
        auto verdict = failed("Runtime `" + handler.name +
                              "` has no runtime_type: containerd fails "
                              "with 'container.Runtime.Name must be set'.");
        verdict.because(handler.place, "runtime_type = \"io.containerd.runc.v2\"");
        verdict.edit(handler.place.path + ": runtime_type = \"io.containerd.runc.v2\"",
                     Risk::kRestartRuntime);
        verdict.fix(
            "sudo apt install 'nvidia-container-toolkit>=1.20' && " + configure_command(runtime),
            Risk::kRestartRuntime);
        return verdict;
    }
    return ok("every nvidia runtime has its type");
}

Verdict judge_cgroup(const Facts& facts) {
    const Handler* const handler = facts.runtime.nvidia_handler();
    if (handler == nullptr) return not_here("no nvidia runtime is configured");
    if (facts.runtime.kind != RuntimeFacts::Kind::kContainerd)
        return ok("the runtime has one setting");
    const bool own = handler->systemd_cgroup.value_or(false);
    const std::string driver = text_at(facts.kubelet.config, {"cgroupDriver"});
    const bool runc_differs = facts.runtime.systemd_cgroup && *facts.runtime.systemd_cgroup != own;
    const bool kubelet_differs = !driver.empty() && (driver == "systemd") != own;
    if (!runc_differs && !kubelet_differs) return ok("the cgroup driver is the same everywhere");
    auto verdict =
        failed("The nvidia runtime uses " + std::string(own ? "systemd" : "cgroupfs") + ", " +
               (kubelet_differs ? "the kubelet " + driver
                                : std::string("runc ") + (own ? "cgroupfs" : "systemd")) +
               ".");
    verdict.because(handler->place, std::string("SystemdCgroup = ") + (own ? "false" : "true"));
    if (kubelet_differs) {
        verdict.because(Evidence{.path = facts.kubelet.config_text.place.path,
                                 .value = "cgroupDriver: " + driver});
    }
    verdict.edit(handler->place.path + ": SystemdCgroup = " + (own ? "false" : "true"),
                 Risk::kRestartRuntime);
    verdict.fix("sudo " + facts.runtime.restart, Risk::kRestartRuntime);
    return verdict;
}

Verdict judge_docker_only(const Facts& facts) {
    const RuntimeFacts& runtime = facts.runtime;
    if (!runtime.found() || runtime.kind == RuntimeFacts::Kind::kDocker) {
        return not_here("Docker is the runtime, or none is");
    }
    if (runtime.nvidia_handler() != nullptr || cdi_usable(facts)) {
        return ok("the runtime that Kubernetes uses is set up");
    }
    for (const Handler& handler : runtime.elsewhere) {
        if (handler.place.path != "/etc/docker/daemon.json" || !handler.name.contains("nvidia"))
            continue;
        auto verdict = failed("Docker is configured for GPUs, but Kubernetes uses " +
                              runtime.flavour + ", which has no nvidia runtime.");
        verdict.because(handler.place, "the same for " + runtime.flavour);
        verdict.because(runtime.place);
        verdict.fix(configure_command(runtime), Risk::kRestartRuntime);
        return verdict;
    }
    return ok("no setting of Docker that only Docker reads");
}

constexpr Check kRuntimeChecks[] = {
    {"RT005", Level::kRuntime, true, "", judge_cri_disabled},
    {"RT004", Level::kRuntime, true, "RT005", judge_template_words},
    {"RT002", Level::kRuntime, true, "RT004 RT005", judge_wrong_file},
    {"RT010", Level::kRuntime, true, "RT002 RT004 RT005", judge_docker_only},
    {"RT001", Level::kRuntime, true, "RT002 RT004 RT005 RT010", judge_handler},
    {"RT003", Level::kRuntime, true, "RT001 RT002 RT004 RT005", judge_binary},
    {"RT008", Level::kRuntime, true, "RT001 RT002 RT004 RT005", judge_runtime_type},
    {"RT006", Level::kRuntime, false, "RT001 RT002 RT003 RT004 RT005 RT008 RT010",
     judge_restart_pending},
    {"RT007", Level::kRuntime, true, "RT001 RT002 RT003 RT004 RT005 RT008 RT010", judge_default},
    {"RT009", Level::kRuntime, false, "RT001 RT002 RT003 RT004 RT005 RT008 RT010", judge_cgroup},
};

}  // namespace

std::span<const Check> runtime_checks() { return kRuntimeChecks; }

}  // namespace aliquot::doctor
