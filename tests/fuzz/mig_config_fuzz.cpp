// SPDX-License-Identifier: Apache-2.0
// Any bytes as a MIG configuration, a spec, a list of instances or a journal: nothing crashes, every
// problem has a place inside the text, and what was read can be written and read again.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "mig/config.h"
#include "mig/journal.h"
#include "mig/plan.h"

namespace {

void expect(bool condition) {
    if (!condition) std::abort();
}

void read_config(std::string_view text) {
    const auto read = aliquot::mig::read_config(text);
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    for (const auto& problem : read.problems) expect(problem.mark.line <= lines);
    if (!read.problems.empty()) return;
    expect(!read.config.configs.empty());
    const std::vector<aliquot::mig::Board> boards{
        {.gpu = {"GPU-0"}, .pci_device_id = 0x20B010DE, .mig_capable = true}};
    for (const auto& config : read.config.configs) {
        const auto targets = aliquot::mig::targets_of(config, boards);
        expect(!targets || targets->size() <= boards.size());
        for (const auto& rule : config.rules) {
            expect(rule.enabled || rule.spec.empty());
            const auto again = aliquot::mig::parse_layout_spec(to_text(rule.spec));
            expect(!rule.spec.empty() || again.ok());
        }
    }
}

void plan_spec(std::string_view text) {
    static const auto kGeometry =
        *aliquot::mig::geometry_of(*aliquot::catalog::find_gpu_model("a100-40"));
    const std::size_t line = std::min(text.find('\n'), text.size());
    const auto spec = aliquot::mig::parse_layout_spec(text.substr(0, line));
    const auto now =
        aliquot::mig::parse_instances(text.substr(std::min(line + 1, text.size())), kGeometry);
    if (!spec || !now) return;
    const auto again = aliquot::mig::parse_layout_spec(to_text(*spec));
    expect(again && *again == *spec);
    const auto answer = aliquot::mig::plan(kGeometry, *now, *spec);
    if (const auto* const refusal = std::get_if<aliquot::mig::Refusal>(&answer)) {
        expect(!refusal->reason.empty());
        return;
    }
    const auto& found = std::get<aliquot::mig::Plan>(answer);
    expect(aliquot::mig::is_reached(kGeometry, found.layout, *spec));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    read_config(text);
    plan_spec(text);
    if (const auto journal = aliquot::mig::parse_journal(text)) {
        expect(*aliquot::mig::parse_journal(to_json(*journal)) == *journal);
    }
    return 0;
}
