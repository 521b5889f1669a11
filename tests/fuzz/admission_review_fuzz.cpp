// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "admission/review.h"
#include "base/base64.h"

namespace {

using Json = nlohmann::json;
using namespace aliquot::admission;

const Cluster& cluster() {
    static const Cluster kCluster = [] {
        const auto node = read_node(R"({"metadata":{"name":"a2","labels":{
            "nvidia.com/gpu.product":"NVIDIA-A2-SHARED","nvidia.com/gpu.memory":"15356"},
            "annotations":{"aliquot.dev/shares":
            "[{\"resource\":\"nvidia.com/gpu\",\"mechanism\":\"memory\",\"devices\":8,\"perGpu\":4,\"memoryMiB\":3839}]"}},
            "status":{}})");
        return Cluster{std::make_shared<const GpuNode>(node.value_or(GpuNode{}))};
    }();
    return kCluster;
}

}  // namespace

/// Any bytes as a review: an answer to the peer, or an AdmissionReview; what is patched once is not
/// patched again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    (void)read_node(bytes);
    const Review binding = review_binding(bytes, [](const BindingQuestion& question) {
        if (question.name.empty() || question.node.empty()) std::abort();
        return BindingAnswer{.annotations = {{"a/b~c", question.uid}}};
    });
    if (binding.body.empty() || binding.result == ReviewResult::kFailed) std::abort();
    if (binding.result == ReviewResult::kPatched) {
        const auto response = Json::parse(binding.body)["response"];
        const auto patch = aliquot::decode_base64(response["patch"].get<std::string>());
        const Json object = Json::parse(bytes)["request"]["object"].patch(Json::parse(*patch));
        if (!object["metadata"]["annotations"].contains("a/b~c")) std::abort();
    }
    const Review answer = review(bytes, &cluster(), {.runtime_class = "nvidia"});
    if (answer.body.empty() || answer.result == ReviewResult::kFailed) std::abort();
    if (answer.result == ReviewResult::kMalformed) return 0;
    const Json response = Json::parse(answer.body)["response"];
    if (!response["allowed"].get<bool>() && response["status"]["message"].empty()) std::abort();
    if (answer.result != ReviewResult::kPatched) return 0;
    const Json pod = Json::parse(bytes)["request"]["object"];
    const Decision first = decide(pod.dump(), cluster(), {.runtime_class = "nvidia"});
    const Json patched = pod.patch(Json::parse(first.patch));
    const Decision second = decide(patched.dump(), cluster(), {.runtime_class = "nvidia"});
    if (second.allowed && !second.patch.empty()) std::abort();
    return 0;
}
