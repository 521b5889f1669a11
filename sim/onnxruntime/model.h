// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aliquot::sim {

/// An input or output of a model. An axis of -1 is free.
struct OnnxPort {
    std::string name;
    int type = 0;
    std::vector<std::int64_t> shape;
};

/// What the simulated runtime reads of an ONNX file: not what it computes.
struct OnnxModel {
    std::vector<OnnxPort> inputs;
    std::vector<OnnxPort> outputs;
    std::map<std::string, std::string> metadata;
    std::uint64_t weight_bytes = 0;
    /// The numbers that every picture's output is made of: those of the first weight that is as large as an output. Zeros
    /// when there is none.
    std::vector<float> answer;

    /// A number of the metadata, or `otherwise`.
    [[nodiscard]] std::uint64_t number(const std::string& key, std::uint64_t otherwise) const;
};

/// errors   kInvalidInput: no ONNX model
/// source: onnx.proto (ModelProto, GraphProto, TensorProto, ValueInfoProto)
Result<OnnxModel> read_model(std::string_view bytes);

}  // namespace aliquot::sim
