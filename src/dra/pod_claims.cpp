// SPDX-License-Identifier: Apache-2.0
#include "dra/pod_claims.h"

#include <algorithm>
#include <array>
#include <map>

#include "document/path.h"

namespace aliquot::dra {

using document::items_at;
using document::text_at;
using document::Value;

std::vector<ContainerClaims> claims_of_containers(const document::Value& pod) {
    std::map<std::string, std::string> objects;  // by the name within the pod
    for (const Value& one : items_at(pod, {"spec", "resourceClaims"})) {
        objects[text_at(one, "name")] = text_at(one, "resourceClaimName");
    }
    for (const Value& one : items_at(pod, {"status", "resourceClaimStatuses"})) {
        objects[text_at(one, "name")] = text_at(one, "resourceClaimName");
    }
    std::vector<ContainerClaims> containers;
    for (const char* list : {"initContainers", "containers"}) {
        for (const Value& container : items_at(pod, {"spec", list})) {
            ContainerClaims used{.container = text_at(container, "name")};
            for (const Value& claim : items_at(container, {"resources", "claims"})) {
                const auto object = objects.find(text_at(claim, "name"));
                if (object != objects.end() && !object->second.empty()) {
                    used.claims.insert(object->second);
                }
            }
            const std::string extended =
                text_at(pod, "status.extendedResourceClaimStatus.resourceClaimName");
            for (const Value& one :
                 items_at(pod, {"status", "extendedResourceClaimStatus", "requestMappings"})) {
                if (text_at(one, "containerName") == used.container) used.claims.insert(extended);
            }
            if (!used.claims.empty()) containers.push_back(std::move(used));
        }
    }
    return containers;
}

std::set<std::string> limited_beside(const PreparedClaim& wanted, const PreparedClaims& prepared) {
    std::set<std::string> limited;
    if (!wanted.limited()) return limited;
    for (const auto& [uid, other] : prepared) {
        if (uid != wanted.claim.uid && other.claim.name_space == wanted.claim.name_space &&
            other.limited()) {
            limited.insert(other.claim.name);
        }
    }
    return limited;
}

Result<Done> check_containers(const PodObjects& pods, const PreparedClaim& wanted,
                              const std::set<std::string>& limited) {
    const auto wrong = [&](const ContainerClaims& container, const std::string& pod,
                           const std::string& other) {
        return Error{ErrorCode::kInvalidInput,
                     "claim " + to_text(wanted.claim) + ": container " + container.container +
                         " of pod " + pod + " also uses claim " + other +
                         "; the limits of one claim are kept in a container: make both requests "
                         "in one claim"};
    };
    for (const auto& [name, pod] : pods) {
        if (!pod && pod.error().code == ErrorCode::kNotFound) continue;
        if (!pod) return Error(pod.error()).during("claim " + to_text(wanted.claim));
        for (const ContainerClaims& container : claims_of_containers(*pod)) {
            if (!container.claims.contains(wanted.claim.name)) continue;
            for (const std::string& other : container.claims) {
                if (limited.contains(other) && other != wanted.claim.name)
                    return wrong(container, name, other);
            }
        }
    }
    return Done{};
}

}  // namespace aliquot::dra
