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

std::string field_of(std::string_view kind, std::string_view name) {
    return concat({"device.", kind, "[\"", dra::kDriver, "\"].", name});
}

Json selector(const std::string& expression) { return {{"cel", {{"expression", expression}}}}; }

Json request_of(const PinnedPod& pod, const std::string& gpu, bool consumes) {
    const std::string driver(dra::kDriver);
    const std::string memory = std::to_string(pod.wish.memory_bytes);
    Json selectors = Json::array();
    if (!gpu.empty()) {
        selectors.push_back(selector(field_of("attributes", "uuid") + " == \"" + gpu + "\""));
    }
    Json exactly{{"deviceClassName", driver}};
    if (!pod.wish.is_whole() && consumes) {
        exactly["capacity"] = {
            {"requests", {{"memory", memory}, {"compute", std::to_string(pod.wish.percent())}}}};
    } else if (!pod.wish.is_whole()) {
        selectors.push_back(selector(field_of("capacity", "memory") + ".compareTo(quantity(\"" +
                                     memory + "\")) >= 0"));
    } else {
        selectors.push_back(selector(field_of("attributes", "type") + " == \"gpu\""));
    }
    if (!selectors.empty()) exactly["selectors"] = std::move(selectors);
    return {{"name", "gpu"}, {"exactly", std::move(exactly)}};
}

}  // namespace

bool is_plain_uuid(std::string_view uuid) {
    return !uuid.empty() && std::ranges::all_of(uuid, [](char c) {
        return is_digit(c) || is_letter(c) || c == '-';
    });
}

std::string claim_object(const PinnedPod& pod, unsigned tries, const std::string& gpu,
                         bool consumes) {
    Json annotations{{kTriesNote, std::to_string(tries)}};
    if (!gpu.empty()) annotations[kGpuNote] = gpu;
    const Json owner{{"apiVersion", "v1"},
                     {"kind", "Pod"},
                     {"name", pod.pod.name},
                     {"uid", pod.pod.uid},
                     {"controller", true}};
    return dumped(Json{
        {"apiVersion", "resource.k8s.io/v1"},
        {"kind", "ResourceClaim"},
        {"metadata",
         {{"name", pod.claim},
          {"namespace", pod.pod.name_space},
          {"labels", {{"app.kubernetes.io/managed-by", "aliquot"}}},
          {"annotations", std::move(annotations)},
          {"ownerReferences", Json::array({owner})}}},
        {"spec", {{"devices", {{"requests", Json::array({request_of(pod, gpu, consumes)})}}}}}});
}

}  // namespace aliquot::pins
