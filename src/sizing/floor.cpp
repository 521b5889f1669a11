// SPDX-License-Identifier: Apache-2.0
#include "sizing/floor.h"

#include <algorithm>
#include <array>

#include "base/nearest_word.h"
#include "base/number.h"
#include "catalog/version.h"

namespace aliquot::sizing {
namespace {

constexpr std::array<NodeFloor, 2> kFloors{
    {{"training", 8, 32, "535.0", "1.28", true}, {"vision", 0, 0, "525.60.13", "1.30", false}}};

FloorCheck check_amount(std::string name, double found, double per_gpu, unsigned gpus,
                        const std::string& unit) {
    FloorCheck check;
    check.name = std::move(name);
    check.expected = decimal_text(per_gpu * gpus) + unit + " or more (" + decimal_text(per_gpu) +
                     unit + " for each GPU)";
    if (found == 0) return check;
    check.found = decimal_text(found) + unit;
    check.verdict = found >= per_gpu * gpus ? Verdict::kPass : Verdict::kFail;
    return check;
}

FloorCheck check_version(std::string name, const std::string& found, std::string_view least) {
    FloorCheck check;
    check.name = std::move(name);
    check.expected = std::string(least) + " or newer";
    const auto has = catalog::parse_version(found);
    const auto wants = catalog::parse_version(least);
    if (!has || !wants) return check;
    check.found = found;
    check.verdict = *has >= *wants ? Verdict::kPass : Verdict::kFail;
    return check;
}

FloorCheck check_gpu(const NodeFacts& facts) {
    FloorCheck check{"gpu", Verdict::kUnknown, facts.gpu, "V100 or A100"};
    const catalog::GpuModel* const model = catalog::find_gpu_model(facts.gpu);
    if (model == nullptr) return check;
    const bool named = model->key.starts_with("v100") || model->key.starts_with("a100");
    const catalog::Version volta{{7, 0}};
    check.verdict = named                     ? Verdict::kPass
                    : model->compute >= volta ? Verdict::kWarn
                                              : Verdict::kFail;
    return check;
}

}  // namespace

std::string_view to_text(Verdict verdict) {
    constexpr std::array<std::string_view, 4> kWords{"pass", "warn", "fail", "unknown"};
    return kWords[static_cast<std::size_t>(verdict)];
}

const NodeFloor* find_node_floor(std::string_view name) {
    const auto* const found = std::ranges::find_if(
        kFloors, [name](const NodeFloor& floor) { return same_letters(floor.name, name); });
    return found == kFloors.end() ? nullptr : found;
}

NodeFacts facts_of(const catalog::GpuInstance& instance) {
    NodeFacts facts;
    facts.gpu = instance.model->key;
    facts.gpus = std::max(1U, instance.gpu_count);
    facts.cpu = instance.vcpu;
    facts.memory_gib = instance.memory_gib;
    return facts;
}

std::vector<FloorCheck> check_floor(const NodeFacts& facts, const NodeFloor& floor) {
    std::vector<FloorCheck> checks;
    if (floor.named_gpus) checks.push_back(check_gpu(facts));
    if (floor.cpu_per_gpu > 0) {
        checks.push_back(check_amount("cpu", facts.cpu, floor.cpu_per_gpu, facts.gpus, " cores"));
    }
    if (floor.memory_gib_per_gpu > 0) {
        checks.push_back(
            check_amount("memory", facts.memory_gib, floor.memory_gib_per_gpu, facts.gpus, " GiB"));
    }
    checks.push_back(check_version("driver", facts.driver, floor.driver));
    checks.push_back(check_version("kubernetes", facts.kubernetes, floor.kubernetes));
    checks.push_back({"nvme", Verdict::kUnknown, "", "a local NVMe disk for data"});
    checks.push_back({"toolkit", Verdict::kUnknown, "", "the container toolkit, or CDI"});
    return checks;
}

}  // namespace aliquot::sizing
