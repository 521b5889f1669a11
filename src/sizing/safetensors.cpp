// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include "base/number.h"
#include "base/units.h"
#include "document/yaml.h"
#include "sizing/model.h"
#include "sizing/text.h"

namespace aliquot::sizing {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMostHeader = 16U << 20U;

struct ElementType {
    std::string_view name;
    double bytes = 0;
};

double bytes_of(std::string_view type) {
    constexpr std::array<ElementType, 16> kTypes{{{"F64", 8},
                                                  {"I64", 8},
                                                  {"U64", 8},
                                                  {"F32", 4},
                                                  {"I32", 4},
                                                  {"U32", 4},
                                                  {"F16", 2},
                                                  {"BF16", 2},
                                                  {"I16", 2},
                                                  {"U16", 2},
                                                  {"F8_E4M3", 1},
                                                  {"F8_E5M2", 1},
                                                  {"I8", 1},
                                                  {"U8", 1},
                                                  {"BOOL", 1},
                                                  {"F4", 0.5}}};
    for (const ElementType& one : kTypes) {
        if (one.name == type) return one.bytes;
    }
    return 0;
}

Error malformed(std::string_view name, const std::string& what) {
    return {ErrorCode::kInvalidInput, std::string(name) + ": " + what};
}

/// Elements of one tensor; negative when its shape is none.
double elements_of(const document::Value& tensor) {
    const document::Value* const shape = tensor.find("shape");
    if (shape == nullptr || !shape->is_sequence()) return -1;
    double elements = 1;
    for (const document::Value& length : shape->items) {
        const auto value = number_of(&length);
        if (!value || *value != std::floor(*value)) return -1;
        elements *= *value;
    }
    return elements;
}

}  // namespace

std::uint64_t safetensors_header_bytes(std::string_view first_eight) {
    if (first_eight.size() < kLengthBytes) return 0;
    std::uint64_t length = 0;
    for (std::size_t i = kLengthBytes; i-- > 0;) {
        length = length << 8U | static_cast<unsigned char>(first_eight[i]);
    }
    return length == 0 || length > kMostHeader ? 0 : length + kLengthBytes;
}

Result<ModelShape> read_safetensors(std::string_view name, std::string_view bytes) {
    const std::uint64_t end = safetensors_header_bytes(bytes);
    if (end == 0) {
        return malformed(name,
                         "does not begin with the length of a safetensors header of at most "
                         "16 MiB");
    }
    if (bytes.size() < end) {
        return malformed(name,
                         "ends inside its safetensors header: " + std::to_string(bytes.size()) +
                             " bytes found, " + std::to_string(end) + " expected");
    }
    const std::string_view header = bytes.substr(kLengthBytes, end - kLengthBytes);
    document::Limits limits;
    limits.bytes = kMostHeader;
    limits.nodes = 2'000'000;
    const auto stream = document::parse_yaml(header, limits);
    if (!stream.errors.empty()) {
        return malformed(name, "safetensors header: " + stream.errors.front().message);
    }
    if (stream.documents.empty() || !stream.documents.front().is_mapping()) {
        return malformed(name, "safetensors header: a JSON object is expected");
    }
    constexpr double kMost = 1e14;
    ModelShape shape;
    std::size_t tensors = 0;
    for (const auto& [key, tensor] : stream.documents.front().entries) {
        if (key.scalar == "__metadata__") continue;
        const double elements = elements_of(tensor);
        const double size = bytes_of(text_at(tensor, "dtype"));
        if (elements < 0 || size == 0) {
            return malformed(name, "safetensors header: tensor '" + key.scalar.substr(0, 100) +
                                       "' has no dtype and shape");
        }
        shape.parameters += elements;
        shape.weight_bytes += elements * size;
        ++tensors;
        if (shape.parameters > kMost) return malformed(name, "larger than any model that exists");
    }
    if (tensors == 0) return malformed(name, "safetensors header: has no tensors");
    shape.name = name;
    shape.active_parameters = shape.parameters;
    shape.source = "safetensors header";
    shape.arithmetic = decimal_text(shape.parameters / kBillion, 3) + " B in " +
                       std::to_string(tensors) + " tensors of this file";
    return shape;
}

}  // namespace aliquot::sizing
