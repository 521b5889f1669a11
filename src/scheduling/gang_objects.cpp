// SPDX-License-Identifier: Apache-2.0
#include "scheduling/gang_objects.h"

namespace aliquot::scheduling {
namespace {

using kube_client::Resource;
using Source = GangClaim::Source;

constexpr std::chrono::seconds kPatience{5};

Resource pod_groups(const char* version) {
    return {.group = "scheduling.k8s.io",
            .version = version,
            .plural = "podgroups",
            .kind = "PodGroup"};
}

/// Where the object may be, the newest version first.
std::vector<Resource> resources_of(Source source) {
    if (source == Source::kJob) return {kube_client::resources::jobs()};
    if (source == Source::kJobSet) {
        return {{.group = "jobset.x-k8s.io",
                 .version = "v1alpha2",
                 .plural = "jobsets",
                 .kind = "JobSet"}};
    }
    if (source != Source::kPodGroup) return {};
    return {pod_groups("v1beta1"), pod_groups("v1alpha3"), pod_groups("v1alpha2")};
}

}  // namespace

FetchGangObject gang_objects(kube_client::Api& api) {
    return [&api](const GangClaim& claim, const std::string& name_space) -> Result<std::string> {
        Error error{ErrorCode::kNotFound, claim.object + " is of no kind that has a size"};
        for (const Resource& resource : resources_of(claim.source)) {
            const auto object =
                api.get(resource, {name_space, claim.object}, {.deadline = kPatience});
            if (object) return object->json;
            error = {kube_client::code_of(object.failure().reason), object.failure().message};
            if (!object.failure().is(kube_client::Reason::kNotFound)) break;
        }
        return error;
    };
}

}  // namespace aliquot::scheduling
