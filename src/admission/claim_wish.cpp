// SPDX-License-Identifier: Apache-2.0
#include "admission/claim_wish.h"

#include "base/number.h"
#include "base/text.h"
#include "k8s/memory_amount.h"

namespace aliquot::admission {
namespace {

Error wrong_wish(std::string_view text, const std::string& why) {
    return {ErrorCode::kInvalidInput,
            concat({"annotation ", kClaimAnnotation, ": '", text.substr(0, 64), "': ", why,
                    "; expected gpu, or memory=3Gi, or memory=3Gi,compute=25"})};
}

}  // namespace

Result<ClaimWish> parse_claim_wish(std::string_view text) {
    ClaimWish wish;
    if (trim(text) == "gpu") return wish;
    for (const std::string_view part : split(text, ',')) {
        const auto sign = part.find('=');
        const std::string_view key = trim(part.substr(0, sign));
        const std::string_view value =
            sign == std::string_view::npos ? "" : trim(part.substr(sign + 1));
        if (key == "memory" && wish.memory_bytes == 0) {
            const auto bytes = k8s::parse_bytes(value);
            if (!bytes || *bytes == 0) return wrong_wish(text, "memory is not an amount");
            wish.memory_bytes = *bytes;
        } else if (key == "compute" && !wish.compute_percent) {
            const auto percent = parse_number<unsigned>(value);
            if (!percent || *percent > 100) return wrong_wish(text, "compute is not a percentage");
            wish.compute_percent = *percent;
        } else {
            return wrong_wish(text, concat({"'", key.substr(0, 32), "' is not understood"}));
        }
    }
    if (wish.memory_bytes == 0) return wrong_wish(text, "it names no memory");
    return wish;
}

}  // namespace aliquot::admission
