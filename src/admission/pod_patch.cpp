// SPDX-License-Identifier: Apache-2.0
#include "admission/pod_patch.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/json_value.h"
#include "k8s/memory_amount.h"
#include "k8s/taint.h"

namespace aliquot::admission {
namespace {

using Json = nlohmann::json;

constexpr char kTaint[] = "nvidia.com/gpu";
constexpr char kShmVolume[] = "aliquot-shm";
constexpr char kShmPath[] = "/dev/shm";
constexpr char kRequired[] = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr char kPreferred[] = "preferredDuringSchedulingIgnoredDuringExecution";
constexpr std::uint64_t kGib = std::uint64_t{1} << 30U;
constexpr std::uint64_t kLeastShm = std::uint64_t{64} << 20U;

/// In the fewest characters that mean the same number.
std::string exact_text(std::uint64_t bytes) {
    const std::string text = k8s::bytes_text(bytes);
    const auto read = k8s::parse_bytes(text);
    return read && *read == bytes ? text : std::to_string(bytes);
}

Json to_json(const Requirement& requirement) {
    return {{"key", requirement.key},
            {"operator", std::string(k8s::to_text(requirement.operation))},
            {"values", requirement.values}};
}

Json to_json(const std::vector<Requirement>& requirements) {
    Json list = Json::array();
    for (const Requirement& one : requirements) list.push_back(to_json(one));
    return list;
}

bool has(const Json& list, const Json& element) {
    return list.is_array() && std::ranges::find(list, element) != list.end();
}

class Patch {
public:
    Patch(const Json& pod, const PodFacts& facts, std::vector<std::string>& warnings)
        : pod_(pod), facts_(facts), warnings_(warnings) {}

    void add_resources(const std::vector<Assignment>& assignments) {
        for (const Assignment& one : assignments) {
            const ContainerFacts& container = facts_.containers[one.container];
            if (!container.gpu_resources.empty()) continue;
            const std::string path = path_of(container) + "/resources";
            const Json& resources = member(container_of(container), "resources");
            const Json amount = std::to_string(one.count);
            if (!resources.is_object()) {
                add(path,
                    {{"limits", {{one.resource, amount}}}, {"requests", {{one.resource, amount}}}});
                continue;
            }
            for (const char* const kind : {"limits", "requests"}) {
                if (member(resources, kind).is_object()) {
                    add(path + "/" + kind + "/" + json_pointer_step(one.resource), amount);
                } else {
                    add(path + "/" + kind, {{one.resource, amount}});
                }
            }
        }
    }

    void add_toleration() {
        const Json& tolerations = member(spec(), "tolerations");
        if (std::ranges::any_of(items(tolerations), tolerates)) return;
        append("/spec/tolerations", tolerations,
               {{"key", kTaint}, {"operator", "Exists"}, {"effect", "NoSchedule"}});
    }

    void add_affinity(const Choice& choice) {
        if (choice.required.empty() && choice.preferred.empty()) return;
        const Json& before = member(spec(), "affinity");
        Json affinity = before.is_object() ? before : Json::object();
        Json& node = affinity["nodeAffinity"];
        if (!node.is_object()) node = Json::object();
        if (!choice.required.empty()) require(node, choice.required);
        if (!choice.preferred.empty()) prefer(node, choice.preferred);
        if (affinity != before) add("/spec/affinity", std::move(affinity));
    }

    void add_shm(const GpuRequests& requests, const Choice& choice) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < facts_.containers.size(); ++i) {
            const std::uint64_t bytes = shm_bytes(i, requests, choice);
            const Json& mounts = member(container_of(facts_.containers[i]), "volumeMounts");
            const bool mounted = std::ranges::any_of(items(mounts), [](const Json& mount) {
                return text_at(mount, "mountPath") == kShmPath;
            });
            if (bytes == 0 || mounted) continue;
            append(path_of(facts_.containers[i]) + "/volumeMounts", mounts,
                   {{"name", kShmVolume}, {"mountPath", kShmPath}});
            sum += bytes;
        }
        const Json& volumes = member(spec(), "volumes");
        const bool there = std::ranges::any_of(items(volumes), [](const Json& volume) {
            return text_at(volume, "name") == kShmVolume;
        });
        if (sum == 0 || there) return;
        append("/spec/volumes", volumes,
               {{"name", kShmVolume},
                {"emptyDir", {{"medium", "Memory"}, {"sizeLimit", exact_text(sum)}}}});
    }

    void add_runtime_class(const std::string& name) {
        if (name.empty() || !text_at(spec(), "runtimeClassName").empty()) return;
        add("/spec/runtimeClassName", name);
    }

    Json take() { return std::move(operations_); }

private:
    void add(const std::string& path, Json value) {
        operations_.push_back({{"op", "add"}, {"path", path}, {"value", std::move(value)}});
    }

    void append(const std::string& path, const Json& list, Json element) {
        if (list.is_array()) {
            add(path + "/-", std::move(element));
        } else {
            add(path, Json::array({std::move(element)}));
        }
    }

    [[nodiscard]] const Json& spec() const { return member(pod_, "spec"); }

    static const Json& items(const Json& list) {
        static const Json kEmpty = Json::array();
        return list.is_array() ? list : kEmpty;
    }

    static const char* list_of(const ContainerFacts& container) {
        return container.init ? "initContainers" : "containers";
    }
    static std::string path_of(const ContainerFacts& container) {
        return std::string("/spec/") + list_of(container) + "/" + std::to_string(container.index);
    }
    [[nodiscard]] const Json& container_of(const ContainerFacts& container) const {
        return member(spec(), list_of(container))[container.index];
    }

    static bool tolerates(const Json& toleration) {
        const k8s::Toleration read{.key = text_at(toleration, "key"),
                                   .operation = text_at(toleration, "operator"),
                                   .effect = text_at(toleration, "effect")};
        // Whatever its value is.
        return read.operation == "Exists" && k8s::tolerates(read, {kTaint, "", "NoSchedule"});
    }

    /// Into each term: one of them must hold. A term without expressions means no node and stays so.
    static void require(Json& node, const std::vector<Requirement>& requirements) {
        Json& required = node[kRequired];
        if (!required.is_object()) required = Json::object();
        Json& terms = required["nodeSelectorTerms"];
        if (!terms.is_array() || terms.empty()) {
            terms = Json::array({{{"matchExpressions", to_json(requirements)}}});
            return;
        }
        for (Json& term : terms) {
            if (!term.is_object()) continue;
            const bool is_empty = items(member(term, "matchExpressions")).empty() &&
                                  items(member(term, "matchFields")).empty();
            if (is_empty) continue;
            Json& expressions = term["matchExpressions"];
            if (!expressions.is_array()) expressions = Json::array();
            for (const Requirement& one : requirements) {
                Json expression = to_json(one);
                if (!has(expressions, expression)) expressions.push_back(std::move(expression));
            }
        }
    }

    static void prefer(Json& node, const std::vector<Requirement>& requirements) {
        constexpr int kWeight = 100;
        Json& preferred = node[kPreferred];
        if (!preferred.is_array()) preferred = Json::array();
        Json term{{"weight", kWeight},
                  {"preference", {{"matchExpressions", to_json(requirements)}}}};
        if (!has(preferred, term)) preferred.push_back(std::move(term));
    }

    /// Written for the container; else a gibibyte for each GPU, where there are several.
    std::uint64_t shm_bytes(std::size_t container, const GpuRequests& requests,
                            const Choice& choice) {
        const ContainerFacts& facts = facts_.containers[container];
        const auto request = std::ranges::find(requests.shm, container, &ShmRequest::container);
        if (request != requests.shm.end()) {
            if (facts.memory_limit_bytes != 0 && request->bytes > facts.memory_limit_bytes) {
                warnings_.push_back("container '" + facts.name + "': /dev/shm of " +
                                    exact_text(request->bytes) +
                                    " counts as its memory, whose limit is " +
                                    exact_text(facts.memory_limit_bytes));
            }
            return request->bytes;
        }
        const auto one = std::ranges::find(choice.assignments, container, &Assignment::container);
        if (one == choice.assignments.end() || one->count < 2) return 0;
        std::uint64_t bytes = one->count * kGib;
        if (facts.memory_limit_bytes != 0) {
            bytes = std::min(bytes, std::max(facts.memory_limit_bytes / 2, kLeastShm));
        }
        return bytes;
    }

    const Json& pod_;
    const PodFacts& facts_;
    std::vector<std::string>& warnings_;
    Json operations_ = Json::array();
};

}  // namespace

Json make_patch(const Json& pod, const PodFacts& facts, const GpuRequests& requests,
                const Choice& choice, const PatchOptions& options,
                std::vector<std::string>& warnings) {
    Patch patch(pod, facts, warnings);
    const bool has_gpu = !choice.assignments.empty() ||
                         std::ranges::any_of(facts.containers, [](const ContainerFacts& container) {
                             return !container.gpu_resources.empty();
                         });
    patch.add_affinity(choice);
    if (!has_gpu) return patch.take();
    patch.add_resources(choice.assignments);
    patch.add_toleration();
    patch.add_shm(requests, choice);
    patch.add_runtime_class(options.runtime_class);
    return patch.take();
}

}  // namespace aliquot::admission
