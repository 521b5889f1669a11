// SPDX-License-Identifier: Apache-2.0
// Any bytes as a price file, as a window of time and as an amount: nothing crashes, places lie inside the text, and
// what is read holds what the format promises.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "cost/outputs.h"
#include "cost/price.h"

namespace {

void expect(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace aliquot;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto lines = lines_of(text);
    const auto read = cost::read_prices("prices.yaml", text);
    for (const auto& problem : read.problems) {
        expect(problem.mark.line <= lines.size() + 1);
        expect(!problem.message.empty() && problem.message.find('\n') == std::string::npos);
    }
    constexpr cost::TimeMs kNow = 1'795'737'600'000;
    if (!read.has_errors()) {
        for (const auto& rule : read.file.rules) {
            expect(rule.rate >= 0 && rule.rate <= cost::kMostRate && rule.from < rule.until);
        }
        const cost::Machine machine{.name = "gpu-1", .type = "g5.xlarge", .gpu = "a10g"};
        const auto price = cost::price_of(machine, kNow, read.file);
        expect(price.rate >= 0 && price.rate <= cost::kMostRate && !price.version.empty());
    }
    if (lines.empty()) return 0;
    const auto window = cost::parse_window(lines.front(), kNow);
    expect(!window || window->first < window->second);
    const auto amount = cost::parse_money(lines.front());
    expect(!amount || cost::parse_money(cost::money_text(*amount)) == amount);
    return 0;
}
