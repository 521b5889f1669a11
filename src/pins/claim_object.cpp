// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_value.h"
#include "base/number.h"
#include "base/text.h"
#include "dra/names.h"
#include "pins/claim_notes.h"
#include "pins/pinned_pod.h"

namespace aliquot::pins {
namespace {

using Json = nlohmann::json;

constexpr const char* kMigClass = "mig.aliquot.dev";

std::string field_of(std::string_view kind, std::string_view name) {
    return concat({"device.", kind, "[\"", dra::kDriver, "\"].", name});
}

Json selector(const std::string& expression) { return {{"cel", {{"expression", expression}}}}; }

/// "... == \"GPU-a\"", "... in [\"GPU-a\", \"GPU-b\"]".
Json one_of(std::string_view attribute, const std::vector<std::string>& values) {
    const std::string field = field_of("attributes", attribute);
    if (values.size() == 1) return selector(field + " == \"" + values.front() + "\"");
    std::string list;
    for (const std::string& value : values) {
        list += (list.empty() ? "\"" : ", \"") + value + "\"";
    }
    return selector(field + " in [" + list + "]");
}

Json request_of(const PinnedPod& pod, const std::string& name, const std::vector<std::string>& gpus,
                unsigned count, bool consumes) {
    const std::string driver(dra::kDriver);
    const admission::ClaimRequest& request = pod.request;
    const std::string memory = std::to_string(request.memory_bytes);
    Json selectors = Json::array();
    if (!gpus.empty()) selectors.push_back(one_of(request.is_mig() ? "parentUUID" : "uuid", gpus));
    Json exactly{{"deviceClassName", request.is_mig() ? kMigClass : driver}};
    if (request.is_mig()) {
        selectors.push_back(one_of("profile", {request.mig_profile}));
    } else if (!request.is_whole() && consumes) {
        exactly["capacity"] = {
            {"requests", {{"memory", memory}, {"compute", std::to_string(request.percent())}}}};
    } else if (!request.is_whole()) {
        selectors.push_back(selector(field_of("capacity", "memory") + ".compareTo(quantity(\"" +
                                     memory + "\")) >= 0"));
    } else {
        selectors.push_back(selector(field_of("attributes", "type") + " == \"gpu\""));
    }
    if (count > 1) exactly["count"] = count;
    if (!selectors.empty()) exactly["selectors"] = std::move(selectors);
    return {{"name", name}, {"exactly", std::move(exactly)}};
}

/// Each GPU that was chosen has a request of its own; of MIG devices those of the chosen GPUs are alike.
Json requests_of(const PinnedPod& pod, const std::vector<std::string>& gpus, bool consumes) {
    if (pod.request.is_mig() || gpus.size() < 2) {
        return Json::array({request_of(pod, "gpu", gpus, pod.request.count, consumes)});
    }
    Json requests = Json::array();
    for (const std::string& gpu : gpus) {
        const std::string name = "gpu-" + std::to_string(requests.size());
        requests.push_back(request_of(pod, name, {gpu}, 1, consumes));
    }
    return requests;
}

}  // namespace

bool is_plain_uuid(std::string_view uuid) {
    return !uuid.empty() && std::ranges::all_of(uuid, [](char c) {
        return is_digit(c) || is_letter(c) || c == '-';
    });
}

std::string claim_object(const PinnedPod& pod, unsigned tries, const std::vector<std::string>& gpus,
                         bool consumes) {
    Json annotations{{kTriesNote, std::to_string(tries)}};
    if (!gpus.empty()) annotations[kGpuNote] = join(gpus, ",");
    const Json owner{{"apiVersion", "v1"},
                     {"kind", "Pod"},
                     {"name", pod.pod.name},
                     {"uid", pod.pod.uid},
                     {"controller", true}};
    return dumped(Json{{"apiVersion", "resource.k8s.io/v1"},
                       {"kind", "ResourceClaim"},
                       {"metadata",
                        {{"name", pod.claim},
                         {"namespace", pod.pod.name_space},
                         {"labels", {{"app.kubernetes.io/managed-by", "aliquot"}}},
                         {"annotations", std::move(annotations)},
                         {"ownerReferences", Json::array({owner})}}},
                       {"spec", {{"devices", {{"requests", requests_of(pod, gpus, consumes)}}}}}});
}

}  // namespace aliquot::pins
