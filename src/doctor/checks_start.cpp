// SPDX-License-Identifier: Apache-2.0
//
// Why the containers of a pod that has its node do not come up, or end again and again.
#include <algorithm>
#include <array>
#include <optional>

#include "base/number.h"
#include "base/text.h"
#include "doctor/check.h"
#include "doctor/nodes.h"
#include "doctor/text.h"

namespace aliquot::doctor {
namespace {

/// A container that is not up, with its status.
struct Stopped {
    const Object* pod = nullptr;
    const Value* status = nullptr;
    std::string name;
    std::string reason;   // of what it waits for or how it ended: "ImagePullBackOff"
    std::string message;  // may be empty
    [[nodiscard]] Location place(std::string text) const {
        return {pod->path, status->mark.line, std::move(text)};
    }
};

bool is_asked_for(const Facts& facts, const Object& pod) {
    if (facts.target.kind == Target::Kind::kPod) return pod.id() == facts.target.name;
    return !gpu_requests(pod).empty() && phase_of(pod) != "Succeeded";
}

/// Containers that wait or have ended, of the pod that is asked about or of all that have GPUs.
std::vector<Stopped> stopped_containers(const Facts& facts) {
    std::vector<Stopped> all;
    for (const Object& pod : facts.cluster.all("Pod")) {
        if (!is_asked_for(facts, pod)) continue;
        for (const char* const list : {"initContainerStatuses", "containerStatuses"}) {
            for (const Value& status : items_at(pod.body, {"status", list})) {
                for (const char* const how : {"waiting", "terminated"}) {
                    const Value* const state = at_path(status, {"state", how});
                    if (state == nullptr) continue;
                    all.push_back({&pod, &status, text_at(status, {"name"}),
                                   text_at(state, {"reason"}), text_at(state, {"message"})});
                }
            }
        }
    }
    return all;
}

const Said* said_by(const Facts& facts, const Object& pod,
                    std::initializer_list<std::string_view> parts) {
    for (const Said& one : facts.cluster.said) {
        if (one.pod != pod.id()) continue;
        for (const std::string_view part : parts) {
            if (contains_folded(one.text, part)) return &one;
        }
    }
    return nullptr;
}

/// A text as the end of a sentence.
std::string ending(std::string_view text) {
    std::string made = clip(text, 160);
    if (!made.ends_with('.')) made += '.';
    return made;
}

Verdict nothing(const Facts& facts, std::string well) {
    return facts.cluster.asked("Pod") ? ok(std::move(well)) : not_read(facts, {"Pod"});
}

std::string image_of(const Stopped& one) {
    for (const Value* const container : containers_of(*one.pod)) {
        if (text_at(container, {"name"}) == one.name) return text_at(container, {"image"});
    }
    return text_at(one.status, {"image"});
}

/// "nvcr.io" of "nvcr.io/nim/x:1"; Docker's own when the image names none.
std::string registry_of(const std::string& image) {
    const std::string first = image.substr(0, image.find('/'));
    const bool host =
        image.contains('/') && (first.contains('.') || first.contains(':') || first == "localhost");
    return host ? first : "docker.io";
}

/// Why a registry did not give an image.
struct Refused {
    std::array<std::string_view, 6> texts;  // of the message, letters in any case
    std::string_view cause;
    std::string_view note;
    bool login = false;
};

constexpr std::array<Refused, 9> kRefused{
    {{{"unauthorized", "authentication required", "anonymous token", "denied", "forbidden",
       "no basic auth"},
      "the registry wants a login, and the pod brings none that it takes",
      "The name of the secret stands in imagePullSecrets of the pod or its ServiceAccount; nvcr.io "
      "takes the user $oauthtoken and an NGC key. A name that does not exist is refused alike.",
      true},
     {{"toomanyrequests", "rate limit"},
      "the registry allows no more pulls now",
      "Log in (imagePullSecrets), or pull through a mirror.",
      true},
     {{"no match for platform", "no matching manifest"},
      "the image has no variant for the node's processor",
      "Use an image for it, or a nodeSelector kubernetes.io/arch."},
     {{"not found", "manifest unknown", "does not exist", "repository name not known"},
      "there is no such image or tag",
      "Compare name and tag with the registry's list; tags are deleted, too."},
     {{"no space left"}, "the node's disk is full", "Free it: crictl rmi --prune."},
     {{"expired or is not yet valid"},
      "the registry's certificate is not valid at the time that the node's clock tells",
      "Compare the clock (timedatectl) and let chrony or systemd-timesyncd set it; only where it "
      "is "
      "right must the registry renew its certificate."},
     {{"http: server gave HTTP response"},
      "the registry speaks HTTP, and the node asks for HTTPS",
      "Name it with http:// in the runtime's hosts.toml (certs.d), or give it a certificate."},
     {{"x509", "certificate"},
      "the node does not trust the registry's certificate",
      "Give the container runtime of the nodes the registry's CA (certs.d)."},
     {{"timeout", "no such host", "connection refused", "network is unreachable",
       "connection reset", "deadline exceeded"},
      "the node does not reach the registry",
      "Look at DNS, proxy and firewall of the node; large images need a longer way."}}};

Verdict judge_pull(const Facts& facts) {
    constexpr std::array<std::string_view, 6> kReasons{"ErrImagePull",        "ImagePullBackOff",
                                                       "InvalidImageName",    "ErrImageNeverPull",
                                                       "RegistryUnavailable", "ImageInspectError"};
    for (const Stopped& one : stopped_containers(facts)) {
        if (std::ranges::find(kReasons, one.reason) == kReasons.end()) continue;
        const std::string image = image_of(one);
        const Said* const said = said_by(facts, *one.pod, {"failed to pull", "pulling image"});
        const std::string why = lower(one.message + (said == nullptr ? "" : " " + said->text));
        const Refused* found = nullptr;
        for (const Refused& row : kRefused) {
            const bool fits = std::ranges::any_of(row.texts, [&](std::string_view text) {
                return !text.empty() && why.contains(lower(text));
            });
            if (fits && found == nullptr) found = &row;
        }
        auto verdict = failed(
            concat({"Pod ", one.pod->id(), ": the image ", image,
                    " cannot be pulled: ", found != nullptr ? found->cause : one.reason, "."}));
        verdict.because(one.place(concat({one.reason, ": ", one.message})));
        if (said != nullptr) verdict.because(evidence_of(*said));
        if (found != nullptr && found->login) {
            verdict.fix(
                concat({"kubectl -n ", one.pod->space,
                        " create secret docker-registry pull --docker-server=", registry_of(image),
                        " --docker-username=USER --docker-password=KEY"}));
            verdict.edit("imagePullSecrets: [{name: pull}]", Risk::kRestartPods);
        } else {
            verdict.fix(concat({"kubectl -n ", one.pod->space, " describe pod ", one.pod->name}));
        }
        if (found != nullptr) verdict.note(std::string(found->note));
        return verdict;
    }
    return nothing(facts, "every image is there");
}

/// "secret" and "hf-token" of `secret "hf-token" not found`.
struct Missing {
    std::string kind, name;
};

std::optional<Missing> missing_in(const std::string& text) {
    for (const char* const kind : {"secret", "configmap"}) {
        const auto at = find_folded(text, std::string(kind) + " \"");
        if (at == std::string::npos || !contains_folded(text, "not found")) continue;
        const auto from = text.find('"', at) + 1;
        return Missing{kind, text.substr(from, text.find('"', from) - from)};
    }
    return std::nullopt;
}

Verdict judge_setup(const Facts& facts) {
    for (const Stopped& one : stopped_containers(facts)) {
        const bool refused =
            one.reason == "CreateContainerConfigError" || one.reason == "CreateContainerError";
        const bool creating = one.reason == "ContainerCreating" || one.reason == "PodInitializing";
        if (!refused && !creating) continue;
        const Said* const said = refused
                                     ? nullptr
                                     : said_by(facts, *one.pod,
                                               {"FailedMount", "MountVolume.SetUp failed",
                                                "FailedAttachVolume", "FailedCreatePodSandBox"});
        if (creating && said == nullptr) continue;
        const std::string text = refused ? one.message : said->text;
        auto verdict = failed(concat(
            {"Pod ", one.pod->id(), ": container ", one.name, " cannot be made: ", ending(text)}));
        verdict.because(one.place(concat({one.reason, ": ", one.message})));
        if (said != nullptr) verdict.because(evidence_of(*said));
        if (const auto missing = missing_in(text)) {
            verdict.fix(concat(
                {"kubectl -n ", one.pod->space, " get ", missing->kind, " ", missing->name}));
            verdict.note(concat({"Make the ", missing->kind == "secret" ? "Secret " : "ConfigMap ",
                                 missing->name, " in the namespace ", one.pod->space,
                                 " (those of other namespaces do not count), or mark it optional: "
                                 "true. The pod goes on by itself."}));
        } else {
            verdict.fix(concat({"kubectl -n ", one.pod->space, " describe pod ", one.pod->name}));
        }
        return verdict;
    }
    return nothing(facts, "what containers name is there");
}

Verdict judge_probe(const Facts& facts) {
    for (const Stopped& one : stopped_containers(facts)) {
        const Said* const killed = said_by(facts, *one.pod,
                                           {"failed liveness probe, will be restarted",
                                            "failed startup probe, will be restarted"});
        if (killed == nullptr) continue;
        auto verdict =
            failed(concat({"Pod ", one.pod->id(), ": container ", one.name,
                           " is ended by its own probe before it answers: loading a model takes "
                           "longer than the probe waits."}));
        verdict.because(evidence_of(*killed, "a probe that waits for the start"));
        if (const Said* const why = said_by(facts, *one.pod, {"probe failed:"})) {
            verdict.because(evidence_of(*why));
        }
        verdict.edit(
            "startupProbe: the livenessProbe's request with periodSeconds: 10, failureThreshold: "
            "180 (30 minutes); the livenessProbe begins when it has passed",
            Risk::kRestartPods);
        verdict.note("If it answered before and hangs later, the log says more than the probe.");
        verdict.as(Confidence::kLikely);
        return verdict;
    }
    return nothing(facts, "no probe ends a container");
}

std::string meaning_of_exit(std::int64_t code) {
    switch (code) {
        case 126:
            return "the command cannot be executed";
        case 127:
            return "there is no such command";
        case 132:
            return "illegal instruction: the image was built for a newer CPU";
        case 134:
            return "the program aborted";
        case 137:
            return "killed: by the kubelet after a stop or a probe, or for memory of the node";
        case 139:
            return "segmentation fault";
        case 143:
            return "told to stop";
        default:
            return {};
    }
}

/// The line that says most of an end: the last one that names an error, else the last one.
const Said* last_word(const Facts& facts, const Object& pod) {
    const Said* last = nullptr;
    const Said* error = nullptr;
    for (const Said& one : facts.cluster.said) {
        if (one.pod != pod.id() || !one.path.starts_with("logs/")) continue;
        last = &one;
        if (contains_folded(one.text, "error") || contains_folded(one.text, "exception") ||
            contains_folded(one.text, "fatal")) {
            error = &one;
        }
    }
    return error != nullptr ? error : last;
}

Verdict of_end(const Facts& facts, const Stopped& one, std::int64_t code) {
    const Said* const word = last_word(facts, *one.pod);
    const std::string meaning = meaning_of_exit(code);
    auto verdict = failed(concat(
        {"Pod ", one.pod->id(), ": the program of container ", one.name, " ends with exit code ",
         std::to_string(code), meaning.empty() ? "" : " (" + meaning + ")", ": ",
         word == nullptr ? std::string("its log was not read.") : ending(word->text)}));
    verdict.because(
        one.place(concat({one.reason, ", restarts: ", text_at(one.status, {"restartCount"})})));
    if (word != nullptr) verdict.because(evidence_of(*word));
    verdict.fix(concat(
        {"kubectl -n ", one.pod->space, " logs ", one.pod->name, " -c ", one.name, " --previous"}));
    verdict.note("Nothing that it said is known as a fault of GPU, driver or runtime.");
    verdict.as(Confidence::kLikely);
    return verdict;
}

/// What no other check explains: better its own last words than no cause at all.
Verdict judge_end(const Facts& facts) {
    for (const Stopped& one : stopped_containers(facts)) {
        for (const char* const when : {"state", "lastState"}) {
            const Value* const ended = at_path(one.status, {when, "terminated"});
            if (ended == nullptr) continue;
            const auto code = parse_number<std::int64_t>(text_at(ended, {"exitCode"}));
            if (!code || *code == 0) continue;
            if (when == std::string_view("lastState") && one.reason != "CrashLoopBackOff") continue;
            return of_end(facts, one, *code);
        }
    }
    for (const Object& pod : facts.cluster.all("Pod")) {
        if (!is_asked_for(facts, pod) || text_at(pod.body, {"status", "reason"}) != "Evicted") {
            continue;
        }
        const std::string message = text_at(pod.body, {"status", "message"});
        auto verdict = failed(concat({"Pod ", pod.id(), " was evicted: ", ending(message)}));
        verdict.because(Evidence{.path = pod.path, .value = "Evicted: " + message});
        verdict.fix(concat({"kubectl -n ", pod.space, " delete pod ", pod.name}),
                    Risk::kRestartPods);
        verdict.note(
            "Ask for what it uses (requests.memory, requests.ephemeral-storage), or free "
            "the node.");
        return verdict;
    }
    return nothing(facts, "no program ends by itself");
}

constexpr Check kStartChecks[] = {
    {"CTR032", Level::kContainer, false, "CTR025 CTR026", judge_pull},
    {"CTR033", Level::kContainer, false, "CTR* RC* RT* CDI* SCH011", judge_setup},
    {"CTR034", Level::kContainer, false, "CTR*", judge_probe},
    {"CTR036", Level::kContainer, false, "CTR*", judge_end},
};

}  // namespace

std::span<const Check> start_checks() { return kStartChecks; }

}  // namespace aliquot::doctor
