// SPDX-License-Identifier: Apache-2.0
// Any bytes as an event log: nothing crashes and no book is broken. The bytes are also taken as lines
// without checks, which are then sealed, so that the search gets past the checks.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "placement/event_log.h"
#include "sim/trace/published_scorer.h"

namespace {

constexpr std::size_t kMostLines = 200;

void expect(bool holds) {
    if (!holds) std::abort();
}

void play(std::string_view log) {
    auto played = aliquot::placement::replay(log, aliquot::sim::trace::published_scorer);
    if (!played) {
        expect(!played.error().message.empty());
        return;
    }
    expect(played->decisions + 1 <= played->lines);
    expect(played->engine.self_check().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    play(text);
    aliquot::placement::Chain chain;
    std::string sealed = chain.sealed("aliquot-placement-log 1");
    for (std::size_t line = 0; line < kMostLines && !text.empty(); ++line) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        sealed += chain.sealed(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    play(sealed);
    return 0;
}
