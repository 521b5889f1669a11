// SPDX-License-Identifier: Apache-2.0
#include "onnx/test_model.h"

#include <cstring>
#include <filesystem>
#include <string_view>

namespace aliquot::onnx {
namespace {

constexpr int kFloat = 1;
constexpr int kInt64 = 7;

std::string varint(std::uint64_t value) {
    std::string bytes;
    while (value >= 0x80) {
        bytes += static_cast<char>(value | 0x80U);
        value >>= 7U;
    }
    return bytes + static_cast<char>(value);
}
std::string number(unsigned field, std::uint64_t value) {
    return varint(field << 3U) + varint(value);
}
std::string text(unsigned field, std::string_view value) {
    return varint(field << 3U | 2U) + varint(value.size()) + std::string(value);
}

/// source: onnx.proto, ValueInfoProto
std::string port(const std::string& name, const std::vector<std::int64_t>& shape) {
    std::string axes;
    for (const std::int64_t axis : shape) {
        axes += text(1, axis < 0 ? text(2, "N") : number(1, static_cast<std::uint64_t>(axis)));
    }
    return text(1, name) + text(2, text(1, number(1, kFloat) + text(2, axes)));
}

template <class Number>
std::string tensor(const std::string& name, int type, const std::vector<std::int64_t>& shape,
                   const std::vector<Number>& numbers) {
    std::string bytes;
    for (const std::int64_t axis : shape) bytes += number(1, static_cast<std::uint64_t>(axis));
    bytes += number(2, static_cast<std::uint64_t>(type)) + text(8, name);
    std::string raw(numbers.size() * sizeof(Number), '\0');
    std::memcpy(raw.data(), numbers.data(), raw.size());
    return bytes + text(9, raw);
}

std::string node(std::string_view operation, const std::vector<std::string>& inputs,
                 const std::string& output, const std::string& attributes = "") {
    std::string bytes;
    for (const std::string& input : inputs) bytes += text(1, input);
    return bytes + text(2, output) + text(4, operation) + attributes;
}

}  // namespace

std::string write_model(const TestModel& model) {
    std::vector<std::int64_t> answer_shape(model.output);
    answer_shape.at(0) = 1;
    const std::vector<std::int64_t> ones(model.output.size(), 1);
    std::vector<std::int64_t> column(ones);
    column.at(0) = -1;
    // ReduceMean over all but the batch, then as many axes as the output.
    const std::string axes =
        text(5, text(1, "axes") + number(8, 1) + number(8, 2) + number(8, 3) + number(20, 7));
    const std::string keep = text(5, text(1, "keepdims") + number(3, 0) + number(20, 2));
    std::string graph = text(1, node("ReduceMean", {"images"}, "mean", axes + keep));
    graph += text(1, node("Reshape", {"mean", "column"}, "means"));
    graph += text(1, node("Mul", {"means", "zero"}, "nothing"));
    graph += text(1, node("Add", {"nothing", "answer"}, "output0"));
    graph += text(2, "test");
    graph += text(5, tensor<float>("answer", kFloat, answer_shape, model.answer));
    graph += text(5, tensor<float>("zero", kFloat, {1}, {0.0F}));
    graph += text(5, tensor<std::int64_t>("column", kInt64,
                                          {static_cast<std::int64_t>(column.size())}, column));
    graph += text(11, port("images", model.input));
    graph += text(12, port("output0", model.output));
    std::string file = number(1, 8) + text(7, graph) + text(8, number(2, 17));
    for (const auto& [key, value] : model.metadata) file += text(14, text(1, key) + text(2, value));
    return file;
}

std::string real_library() {
    namespace fs = std::filesystem;
    std::error_code problem;
    const fs::path folder = fs::path(ALIQUOT_SOURCE_DIR) / "build/onnxruntime/onnxruntime/capi";
    for (const auto& entry : fs::directory_iterator(folder, problem)) {
        if (entry.path().filename().string().starts_with("libonnxruntime.so")) return entry.path();
    }
    return {};
}

}  // namespace aliquot::onnx
