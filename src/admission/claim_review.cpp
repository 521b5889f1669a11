// SPDX-License-Identifier: Apache-2.0
#include "admission/claim_review.h"

#include <array>
#include <nlohmann/json.hpp>
#include <random>

#include "admission/answer.h"
#include "admission/claim_request.h"
#include "base/json_text.h"
#include "base/json_value.h"

namespace aliquot::admission {
namespace {

using Json = nlohmann::json;

constexpr int kBadRequest = 400;

/// Adds to a list that may not be there yet.
void add_to(Json& patch, const std::string& path, const Json& list, Json element) {
    const bool there = list.is_array();
    patch.push_back({{"op", "add"},
                     {"path", there ? path + "/-" : path},
                     {"value", there ? std::move(element) : Json::array({std::move(element)})}});
}

/// The index of the container that gets the claim; empty: there is none of that name.
std::optional<std::size_t> container_of(const Json& pod) {
    const Json& containers = member(member(pod, "spec"), "containers");
    const std::string name =
        text_at(member(member(pod, "metadata"), "annotations"), kClaimContainerAnnotation);
    if (!containers.is_array()) return std::nullopt;
    for (std::size_t i = 0; i < containers.size(); ++i) {
        if (name.empty() || text_at(containers[i], "name") == name) return i;
    }
    return std::nullopt;
}

bool has_claim(const Json& spec) {
    const Json& claims = member(spec, "resourceClaims");
    if (!claims.is_array()) return false;
    for (const Json& claim : claims) {
        if (text_at(claim, "name") == kClaimInPod) return true;
    }
    return false;
}

Json patch_of(const Json& pod, std::size_t container, const std::string& name) {
    const Json& spec = member(pod, "spec");
    Json patch = Json::array();
    add_to(patch, "/spec/resourceClaims", member(spec, "resourceClaims"),
           {{"name", kClaimInPod}, {"resourceClaimName", name}});
    const std::string path = "/spec/containers/" + std::to_string(container) + "/resources";
    const Json& resources = member(member(spec, "containers")[container], "resources");
    if (resources.is_object()) {
        add_to(patch, path + "/claims", member(resources, "claims"), {{"name", kClaimInPod}});
    } else {
        patch.push_back({{"op", "add"},
                         {"path", path},
                         {"value", {{"claims", Json::array({{{"name", kClaimInPod}}})}}}});
    }
    const bool labelled = member(member(pod, "metadata"), "labels").is_object();
    if (labelled) {
        patch.push_back({{"op", "add"},
                         {"path", "/metadata/labels/" + json_pointer_step(kClaimLabel)},
                         {"value", kPinned}});
    } else {
        patch.push_back(
            {{"op", "add"}, {"path", "/metadata/labels"}, {"value", {{kClaimLabel, kPinned}}}});
    }
    return patch;
}

Decision name_claim(const Json& pod, const std::function<std::string()>& new_name) {
    const Json& spec = member(pod, "spec");
    const Json& annotations = member(member(pod, "metadata"), "annotations");
    const std::string request = text_at(annotations, kClaimAnnotation);
    if (!spec.is_object() || request.empty() || has_claim(spec)) return {};
    if (!text_at(spec, "nodeName").empty()) return {};
    if (const auto read = parse_claim_request(request); !read) {
        return refused(kBadRequest, read.error().message);
    }
    const auto container = container_of(pod);
    if (!container) {
        return refused(kBadRequest, "annotation " + std::string(kClaimContainerAnnotation) +
                                        ": the pod has no container '" +
                                        text_at(annotations, kClaimContainerAnnotation) + "'");
    }
    Decision decision;
    decision.patch = dumped(patch_of(pod, *container, new_name()));
    return decision;
}

}  // namespace

Review review_claim(std::string_view body, const std::function<std::string()>& new_name) {
    return review_by(body, {.decide = [&](const Json& request) {
                         return name_claim(member(request, "object"), new_name);
                     }});
}

std::string random_claim_name() {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
    constexpr std::size_t kLength = 16;
    std::random_device random;
    std::uniform_int_distribution<std::size_t> pick(0, kLetters.size() - 1);
    std::string name = kClaimPrefix;
    for (std::size_t i = 0; i < kLength; ++i) name += kLetters[pick(random)];
    return name;
}

}  // namespace aliquot::admission
