// SPDX-License-Identifier: Apache-2.0
#include "gate/record.h"

#include "base/number.h"
#include "document/json.h"
#include "document/path.h"

namespace aliquot::gate {
namespace {

using document::Value;

constexpr std::size_t kMostBytes = 1U << 20U;
constexpr std::size_t kMostGpus = 256;

Value one(const GpuState& gpu) {
    return document::make_mapping(
        {{"uuid", gpu.uuid},
         {"index", gpu.index},
         {"problem", gpu.problem},
         {"processes", gpu.processes},
         {"memoryUsedBytes", gpu.memory_used_bytes},
         {"eccUncorrected",
          document::or_null(gpu.ecc_uncorrected.has_value(), gpu.ecc_uncorrected.value_or(0))},
         {"recoveryAction",
          document::or_null(gpu.recovery_action.has_value(), gpu.recovery_action.value_or(0))},
         {"clocksSet", gpu.clocks_set},
         {"powerLimitMilliwatts", document::or_null(gpu.power_limit_milliwatts.has_value(),
                                                    gpu.power_limit_milliwatts.value_or(0))},
         {"migEnabled", gpu.mig_enabled},
         {"migDevices", gpu.mig_devices}});
}

template <class Number>
std::optional<Number> number_at(const Value& gpu, std::string_view key) {
    const Value* const value = gpu.find(key);
    return value != nullptr && value->kind == Value::Kind::kInteger
               ? parse_number<Number>(value->scalar)
               : std::nullopt;
}

GpuState read_gpu(const Value& value) {
    GpuState gpu;
    gpu.uuid = document::text_at(value, {"uuid"});
    gpu.index = number_at<unsigned>(value, "index").value_or(0);
    gpu.problem = document::text_at(value, {"problem"});
    for (const Value& pid : document::items_at(value, {"processes"})) {
        if (const auto number = parse_number<std::uint32_t>(pid.scalar)) {
            gpu.processes.push_back(*number);
        }
    }
    gpu.memory_used_bytes = number_at<std::uint64_t>(value, "memoryUsedBytes").value_or(0);
    gpu.ecc_uncorrected = number_at<std::uint64_t>(value, "eccUncorrected");
    gpu.recovery_action = number_at<unsigned>(value, "recoveryAction");
    gpu.clocks_set = document::is_true(value.find("clocksSet"));
    gpu.power_limit_milliwatts = number_at<std::uint64_t>(value, "powerLimitMilliwatts");
    gpu.mig_enabled = document::is_true(value.find("migEnabled"));
    for (const Value& device : document::items_at(value, {"migDevices"})) {
        gpu.mig_devices.push_back(device.scalar);
    }
    return gpu;
}

}  // namespace

std::string to_json(const NodeState& state) {
    return document::to_json(document::make_mapping(
               {{"schemaVersion", 1}, {"gpus", document::make_sequence(state, one)}})) +
           "\n";
}

Result<NodeState> read_record(std::string_view text) {
    const Error wrong{ErrorCode::kInvalidInput, "no record of a gate"};
    if (text.size() > kMostBytes) return wrong;
    const auto value = document::parse_json(text);
    if (!value) return Error{value.error()}.during(wrong.message);
    const auto& gpus = document::items_at(*value, {"gpus"});
    if (document::text_at(*value, {"schemaVersion"}) != "1" || gpus.empty() ||
        gpus.size() > kMostGpus) {
        return wrong;
    }
    NodeState state;
    for (const Value& gpu : gpus) state.push_back(read_gpu(gpu));
    return state;
}

}  // namespace aliquot::gate
