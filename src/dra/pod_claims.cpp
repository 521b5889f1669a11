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

}  // namespace aliquot::dra
