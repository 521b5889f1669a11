// SPDX-License-Identifier: Apache-2.0
#include "pins/pinned_pod.h"

#include "base/number.h"
#include "base/text.h"
#include "document/json.h"
#include "document/path.h"
#include "pins/claim_notes.h"

namespace aliquot::pins {
namespace {

using document::items_at;
using document::text_at;
using document::Value;

std::string named_claim(const Value& pod) {
    for (const Value& one : items_at(pod, {"spec", "resourceClaims"})) {
        if (text_at(one, {"name"}) != admission::kClaimInPod) continue;
        return text_at(one, {"resourceClaimName"});
    }
    return {};
}

std::string owner_of(const Value& claim) {
    for (const Value& one : items_at(claim, {"metadata", "ownerReferences"})) {
        if (text_at(one, {"kind"}) == "Pod") return text_at(one, {"uid"});
    }
    return {};
}

}  // namespace

std::optional<PinnedPod> read_pinned_pod(std::string_view json) {
    auto pod = scheduling::read_gpu_pod(json);
    const auto root = document::parse_json(json);
    if (!pod || !root) return std::nullopt;
    PinnedPod made{.pod = *std::move(pod), .claim = named_claim(*root), .request = {}};
    if (!made.claim.starts_with(admission::kClaimPrefix)) return std::nullopt;
    auto request = admission::parse_claim_request(
        text_at(*root, {"metadata", "annotations", admission::kClaimAnnotation}));
    if (!request) return std::nullopt;
    made.request = *request;
    return made;
}

Result<KnownClaim> read_known_claim(std::string_view json) {
    const auto root = document::parse_json(json);
    if (!root) return root.error();
    KnownClaim known{.claim = claims::read_claim(*root),
                     .resource_version = text_at(*root, {"metadata", "resourceVersion"}),
                     .created = text_at(*root, {"metadata", "creationTimestamp"}),
                     .owner = owner_of(*root),
                     .gpus = {}};
    const std::string gpus = text_at(*root, {"metadata", "annotations", kGpuNote});
    for (const std::string_view gpu : split(std::string_view(gpus), ',')) {
        if (!gpu.empty()) known.gpus.emplace_back(gpu);
    }
    known.tries =
        parse_number<unsigned>(text_at(*root, {"metadata", "annotations", kTriesNote})).value_or(0);
    return known;
}

}  // namespace aliquot::pins
