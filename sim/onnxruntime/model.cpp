// SPDX-License-Identifier: Apache-2.0
#include "sim/onnxruntime/model.h"

#include <cstring>
#include <functional>

#include "base/number.h"

namespace aliquot::sim {
namespace {

constexpr int kFloat = 1;

/// Protobuf's wire format, as far as models use it.
class Wire {
public:
    explicit Wire(std::string_view bytes) : bytes_(bytes) {}

    [[nodiscard]] bool bad() const { return bad_; }

    /// Calls `number` and `text` for each field; false: the bytes are none of this format.
    bool each(const std::function<void(unsigned field, std::uint64_t value)>& number,
              const std::function<void(unsigned field, std::string_view value)>& text) {
        while (!bytes_.empty() && !bad_) {
            const std::uint64_t key = varint();
            const auto field = static_cast<unsigned>(key >> 3U);
            if (field == 0) bad_ = true;
            switch (key & 7U) {
                case 0: {
                    const std::uint64_t value = varint();
                    if (!bad_) number(field, value);
                    break;
                }
                case 1:
                    (void)take(8);
                    break;
                case 2: {
                    const std::string_view value = take(varint());
                    if (!bad_) text(field, value);
                    break;
                }
                case 5:
                    (void)take(4);
                    break;
                default:
                    bad_ = true;
            }
        }
        return !bad_;
    }

private:
    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            if (bytes_.empty()) break;
            const auto byte = static_cast<unsigned char>(bytes_.front());
            bytes_.remove_prefix(1);
            value |= std::uint64_t{byte & 0x7FU} << shift;
            if ((byte & 0x80U) == 0) return value;
        }
        bad_ = true;
        return 0;
    }
    std::string_view take(std::uint64_t count) {
        if (count > bytes_.size()) {
            bad_ = true;
            return {};
        }
        const std::string_view taken = bytes_.substr(0, count);
        bytes_.remove_prefix(count);
        return taken;
    }

    std::string_view bytes_;
    bool bad_ = false;
};

const auto kNoNumber = [](unsigned /*field*/, std::uint64_t /*value*/) {};
const auto kNoText = [](unsigned /*field*/, std::string_view /*value*/) {};

bool read_axis(std::string_view bytes, OnnxPort& port) {
    std::int64_t size = -1;
    const bool good = Wire(bytes).each(
        [&](unsigned field, std::uint64_t value) {
            if (field == 1) size = static_cast<std::int64_t>(value);
        },
        kNoText);
    port.shape.push_back(size);
    return good;
}

bool read_port(std::string_view bytes, OnnxPort& port) {
    bool good = true;
    const auto read_shape = [&](std::string_view shape) {
        return Wire(shape).each(kNoNumber, [&](unsigned field, std::string_view axis) {
            if (field == 1) good = good && read_axis(axis, port);
        });
    };
    const auto read_tensor = [&](std::string_view tensor) {
        return Wire(tensor).each(
            [&](unsigned field, std::uint64_t value) {
                if (field == 1) port.type = static_cast<int>(value);
            },
            [&](unsigned field, std::string_view shape) {
                if (field == 2) good = good && read_shape(shape);
            });
    };
    const bool read = Wire(bytes).each(kNoNumber, [&](unsigned field, std::string_view text) {
        if (field == 1) port.name = text;
        if (field != 2) return;
        good = good && Wire(text).each(kNoNumber, [&](unsigned inner, std::string_view tensor) {
            if (inner == 1) good = good && read_tensor(tensor);
        });
    });
    return read && good;
}

struct Weight {
    std::string name;
    int type = 0;
    std::uint64_t count = 1;
    std::string_view raw;
};

bool read_weight(std::string_view bytes, Weight& weight) {
    return Wire(bytes).each(
        [&](unsigned field, std::uint64_t value) {
            if (field == 1) weight.count *= value;
            if (field == 2) weight.type = static_cast<int>(value);
        },
        [&](unsigned field, std::string_view text) {
            if (field == 1) {  // dims, packed
                for (const char c : text) weight.count *= static_cast<unsigned char>(c);
            }
            if (field == 8) weight.name = text;
            if (field == 9) weight.raw = text;
        });
}

bool read_graph(std::string_view bytes, OnnxModel& model, std::vector<Weight>& weights) {
    bool good = true;
    const bool read = Wire(bytes).each(kNoNumber, [&](unsigned field, std::string_view text) {
        if (field == 5) {
            good = good && read_weight(text, weights.emplace_back());
        } else if (field == 11) {
            good = good && read_port(text, model.inputs.emplace_back());
        } else if (field == 12) {
            good = good && read_port(text, model.outputs.emplace_back());
        }
    });
    return read && good;
}

bool read_property(std::string_view bytes, OnnxModel& model) {
    std::string key;
    std::string value;
    const bool good = Wire(bytes).each(kNoNumber, [&](unsigned field, std::string_view text) {
        (field == 1 ? key : value) = text;
    });
    model.metadata[key] = value;
    return good;
}

/// How many numbers an output has for one picture; 0: its axes are free.
std::uint64_t answer_size(const OnnxPort& port) {
    std::uint64_t count = port.shape.size() < 2 ? 0 : 1;
    for (std::size_t i = 1; i < port.shape.size(); ++i) {
        count *= port.shape[i] > 0 ? static_cast<std::uint64_t>(port.shape[i]) : 0U;
    }
    return count;
}

}  // namespace

std::uint64_t OnnxModel::number(const std::string& key, std::uint64_t otherwise) const {
    const auto found = metadata.find(key);
    return found == metadata.end() ? otherwise
                                   : parse_number<std::uint64_t>(found->second).value_or(otherwise);
}

Result<OnnxModel> read_model(std::string_view bytes) {
    constexpr std::uint64_t kMostAnswer = 1U << 24U;
    OnnxModel model;
    std::vector<Weight> weights;
    bool good = true;
    const bool read = Wire(bytes).each(kNoNumber, [&](unsigned field, std::string_view text) {
        if (field == 7) good = good && read_graph(text, model, weights);
        if (field == 14) good = good && read_property(text, model);
    });
    if (!read || !good || model.inputs.empty() || model.outputs.empty()) {
        return Error{ErrorCode::kInvalidInput, "Protobuf parsing failed."};
    }
    const std::uint64_t wanted = answer_size(model.outputs.front());
    if (wanted > kMostAnswer) return Error{ErrorCode::kInvalidInput, "the output is too large"};
    model.answer.assign(wanted, 0.0F);
    bool found = false;
    for (const Weight& weight : weights) {
        model.weight_bytes += weight.raw.size();
        if (found || weight.type != kFloat || weight.count != wanted ||
            weight.raw.size() != wanted * sizeof(float)) {
            continue;
        }
        std::memcpy(model.answer.data(), weight.raw.data(), weight.raw.size());
        found = true;
    }
    return model;
}

}  // namespace aliquot::sim
