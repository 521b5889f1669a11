// SPDX-License-Identifier: Apache-2.0
#include "admission/claim_request.h"

#include <algorithm>

#include "base/number.h"
#include "base/text.h"
#include "k8s/memory_amount.h"

namespace aliquot::admission {
namespace {

Error wrong_wish(std::string_view text, const std::string& why) {
    return {ErrorCode::kInvalidInput,
            concat({"annotation ", kClaimAnnotation, ": '", text.substr(0, 64), "': ", why,
                    "; expected gpu, or memory=3Gi, or memory=3Gi,compute=25, or mig=3g.20gb; of "
                    "several also count=2"})};
}

/// "1g.10gb+me": it stands in an expression, so nothing else may.
bool is_profile(std::string_view text) {
    constexpr std::size_t kLongest = 32;
    return text.size() <= kLongest && text.contains("g.") && is_digit(text.front()) &&
           std::ranges::all_of(text, [](char c) {
               return is_digit(c) || is_letter(c) || c == '.' || c == '+' || c == '-';
           });
}

/// Reads one after another what a wish is made of.
class WishReader {
public:
    /// errors   why it cannot be read
    Result<ClaimRequest> read(std::string_view text) {
        for (const std::string_view part : split(text, ',')) {
            const auto sign = part.find('=');
            const std::string_view key = trim(part.substr(0, sign));
            const bool bare = sign == std::string_view::npos;
            const std::string why = take(key, bare ? "" : trim(part.substr(sign + 1)), bare);
            if (!why.empty()) return wrong_wish(text, why);
        }
        const int kinds = (gpu_ ? 1 : 0) + (wish_.is_mig() ? 1 : 0) + (wish_.is_whole() ? 0 : 1);
        if (kinds == 0) return wrong_wish(text, "it names no memory, no MIG device and no gpu");
        if (kinds > 1) return wrong_wish(text, "memory, mig and gpu exclude each other");
        if (wish_.is_whole() && wish_.compute_percent) {
            return wrong_wish(text, "compute is of a part");
        }
        return wish_;
    }

private:
    /// Empty: it was understood.
    std::string take(std::string_view key, std::string_view value, bool bare) {
        if (key == "gpu" && bare && !gpu_) {
            gpu_ = true;
        } else if (key == "memory" && wish_.memory_bytes == 0) {
            const auto bytes = k8s::parse_bytes(value);
            if (!bytes || *bytes == 0) return "memory is not an amount";
            wish_.memory_bytes = *bytes;
        } else if (key == "compute" && !wish_.compute_percent) {
            const auto percent = parse_number<unsigned>(value);
            if (!percent || *percent > 100) return "compute is not a percentage";
            wish_.compute_percent = *percent;
        } else if (key == "mig" && !wish_.is_mig()) {
            if (value.empty() || !is_profile(value)) return "mig is not a profile";
            wish_.mig_profile = value;
        } else if (key == "count" && !counted_) {
            const auto count = parse_number<unsigned>(value);
            if (!count || *count == 0 || *count > kMostClaimDevices) {
                return "count is not from 1 to " + std::to_string(kMostClaimDevices);
            }
            wish_.count = *count;
            counted_ = true;
        } else {
            return concat({"'", key.substr(0, 32), "' is not understood"});
        }
        return {};
    }

    ClaimRequest wish_;
    bool gpu_ = false;
    bool counted_ = false;
};

}  // namespace

Result<ClaimRequest> parse_claim_request(std::string_view text) { return WishReader().read(text); }

}  // namespace aliquot::admission
