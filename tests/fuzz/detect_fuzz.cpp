// SPDX-License-Identifier: Apache-2.0
// detect takes any bytes: its evidence lies inside the text, in all kinds, and its line is a line.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "detect/detect.h"

namespace {

void check(const aliquot::detect::Verdict& verdict, std::string_view text) {
    for (const auto& one : verdict.evidence) {
        if (one.start >= one.end || one.end > text.size()) std::abort();
    }
    if (!std::isfinite(verdict.score)) std::abort();
    if (!(verdict.confidence >= 0 && verdict.confidence <= 1)) std::abort();
    const auto line = aliquot::detect::to_json_line(verdict, text);
    if (line.find('\n') != std::string::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using aliquot::detect::Kind;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const Kind kind : {Kind::kUnknown, Kind::kText, Kind::kManifest, Kind::kCode}) {
        check(aliquot::detect::detect(text, kind), text);
    }
    check(aliquot::detect::detect_keywords(text), text);
    if (aliquot::detect::unescape_line(text).size() > size) std::abort();
    return 0;
}
