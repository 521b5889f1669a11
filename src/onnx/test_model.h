// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// Small ONNX files that tests write themselves (protobuf by hand; IR 8, opset 17, which every ONNX Runtime since 1.12 reads).
namespace aliquot::onnx {

struct TestModel {
    std::vector<std::int64_t> input;   // -1: a free axis; [N, 3, H, W]
    std::vector<std::int64_t> output;  // its batch axis is -1
    std::vector<float>
        answer;  // of one picture: what the model gives for every picture, plus 0 times its input
    std::map<std::string, std::string> metadata;
};

/// Sum(input) * 0 + answer, for each picture of a batch.
std::string write_model(const TestModel& model);

/// The ONNX Runtime that a checkout's ./check has fetched; empty: there is none.
std::string real_library();

}  // namespace aliquot::onnx
