// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/protobuf.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/base64.h"
#include "base/time_text.h"
#include "sim/apiserver/words.h"

namespace aliquot::sim::apiserver {

namespace {

using Kind = Type::Kind;

constexpr std::string_view kMagic{"k8s\0", 4};
constexpr unsigned kDepthMax = 100;

/// One field as it is on the wire: a number, or the bytes of a text or message.
struct Piece {
    unsigned number = 0;
    bool bytes = false;
    std::uint64_t value = 0;  // varint, or the bits of a fixed field
    std::string_view content;
};

/// Cuts a message into its fields.
class Wire {
public:
    explicit Wire(std::string_view text) : left_(text) {}

    /// False at the end, and when the message is broken.
    bool next(Piece& piece) {
        if (left_.empty()) return false;
        const auto tag = varint();
        if (!tag || (*tag >> 3U) == 0 || (*tag >> 3U) > 536'870'911U) return broken();
        piece = {.number = static_cast<unsigned>(*tag >> 3U)};
        switch (*tag & 7U) {
            case 0: {
                const auto value = varint();
                if (!value) return broken();
                piece.value = *value;
                return true;
            }
            case 1:
                return fixed(piece, 8);
            case 5:
                return fixed(piece, 4);
            case 2: {
                const auto size = varint();
                if (!size || *size > left_.size()) return broken();
                piece.bytes = true;
                piece.content = left_.substr(0, *size);
                left_.remove_prefix(*size);
                return true;
            }
            default:
                return broken();
        }
    }
    [[nodiscard]] bool good() const { return good_; }

    std::optional<std::uint64_t> varint() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64 && !left_.empty(); shift += 7) {
            const auto byte = static_cast<unsigned char>(left_.front());
            left_.remove_prefix(1);
            value |= static_cast<std::uint64_t>(byte & 127U) << shift;
            if (byte < 128) return value;
        }
        return std::nullopt;
    }
    [[nodiscard]] bool at_end() const { return left_.empty(); }

private:
    bool broken() {
        good_ = false;
        left_ = {};
        return false;
    }
    bool fixed(Piece& piece, std::size_t size) {
        if (left_.size() < size) return broken();
        std::memcpy(&piece.value, left_.data(), size);
        left_.remove_prefix(size);
        return true;
    }

    std::string_view left_;
    bool good_ = true;
};

/// The last one of each of the first few fields of a small message.
struct Few {
    explicit Few(std::string_view text) {
        Wire wire(text);
        Piece piece;
        while (wire.next(piece)) {
            if (piece.number < fields.size()) fields[piece.number] = piece;
        }
        good = wire.good();
    }
    [[nodiscard]] std::string_view text(unsigned number) const { return fields[number].content; }
    [[nodiscard]] std::int64_t integer(unsigned number) const {
        return static_cast<std::int64_t>(fields[number].value);
    }
    std::vector<Piece> fields = std::vector<Piece>(5);
    bool good = false;
};

class Reader {
public:
    Value message(std::string_view bytes, const Type& type) {
        Value object = Value::object();
        Path path;
        read_into(object, bytes, type, path, 0);
        return object;
    }
    [[nodiscard]] const std::string& problem() const { return problem_; }

private:
    using Path = std::vector<unsigned>;

    void fail(std::string what) {
        if (problem_.empty()) problem_ = std::move(what);
    }

    /// path   of a part that JSON writes into the object itself ("volumeSource" of a volume)
    void read_into(Value& object, std::string_view bytes, const Type& type, Path& path,
                   unsigned depth) {
        if (depth > kDepthMax) return fail("nested too deeply");
        Wire wire(bytes);
        Piece piece;
        while (problem_.empty() && wire.next(piece)) {
            path.push_back(piece.number);
            const auto exact = std::ranges::find_if(
                type.fields, [&](const auto& one) { return one.wire == path; });
            if (exact != type.fields.end()) {
                read_field(object, piece, *exact, depth);
            } else if (piece.bytes && std::ranges::any_of(type.fields, [&](const Field& one) {
                           return one.wire.size() > path.size() &&
                                  std::equal(path.begin(), path.end(), one.wire.begin());
                       })) {
                read_into(object, piece.content, type, path, depth + 1);
            }
            path.pop_back();
        }
        if (!wire.good()) fail("a message of " + type.name + " is cut off");
    }

    void read_field(Value& object, const Piece& piece, const Field& field, unsigned depth) {
        const Type& type = *field.type;
        if (type.kind == Kind::kList) {
            read_items(object[field.name], piece, *type.element, depth);
        } else if (type.kind == Kind::kMap) {
            read_entry(object[field.name], piece, *type.element, depth);
        } else {
            Value value = read_value(piece, type, depth);
            const bool zero = value == Value("") || value == Value(0) || value == Value(false);
            if (value.is_null() || (zero && field.wire_without_zero)) return;
            object[field.name] = std::move(value);
        }
    }

    void read_items(Value& list, const Piece& piece, const Type& element, unsigned depth) {
        const bool number = element.kind == Kind::kInteger || element.kind == Kind::kBool;
        if (!number || !piece.bytes) return list.push(read_value(piece, element, depth));
        Wire packed(piece.content);
        while (!packed.at_end()) {
            const auto value = packed.varint();
            if (!value) return fail("a packed list is cut off");
            list.push(read_value({.value = *value}, element, depth));
        }
    }

    void read_entry(Value& map, const Piece& piece, const Type& element, unsigned depth) {
        const Few entry(piece.content);
        if (!entry.good) return fail("an entry of a map is cut off");
        Value& place = map[entry.text(1)];
        if (element.kind != Kind::kList) {
            Piece content = entry.fields[2];
            content.bytes = content.bytes || content.number == 0;  // left out: the empty one
            place = read_value(content, element, depth);
            return;
        }
        place = Value::array();
        Wire wire(entry.text(2));
        Piece item;
        while (wire.next(item)) read_items(place, item, *element.element, depth);
        if (!wire.good()) fail("an entry of a map is cut off");
    }

    Value read_value(const Piece& piece, const Type& type, unsigned depth) {
        const bool number =
            type.kind == Kind::kInteger || type.kind == Kind::kBool || type.kind == Kind::kNumber;
        if (number == piece.bytes) {
            fail("a field has another type than expected");
            return {};
        }
        switch (type.kind) {
            case Kind::kInteger:
                return static_cast<std::int64_t>(piece.value);
            case Kind::kBool:
                return piece.value != 0;
            case Kind::kNumber:
                return std::bit_cast<double>(piece.value);
            case Kind::kString:
                return piece.content;
            case Kind::kBytes:
                return encode_base64(piece.content);
            case Kind::kObject: {
                Value object = Value::object();
                Path path;
                read_into(object, piece.content, type, path, depth + 1);
                return object;
            }
            default:
                return read_wrapped(Few(piece.content), piece.content.empty(), type);
        }
    }

    /// Times, quantities and the like: small messages that JSON writes as one value.
    Value read_wrapped(const Few& few, bool empty, const Type& type) {
        if (!few.good) fail("a value is cut off");
        if (type.kind == Kind::kQuantity) return empty ? "0" : few.text(1);
        if (type.kind == Kind::kIntOrString) {
            if (few.integer(1) == 1) return few.text(3);
            return static_cast<std::int64_t>(static_cast<std::int32_t>(few.integer(2)));
        }
        if (empty) return {};
        if (type.kind == Kind::kTime || type.kind == Kind::kMicroTime) {
            return time(few.integer(1), few.integer(2), type.kind == Kind::kMicroTime);
        }
        auto json = parse_json(few.text(1));
        if (json) return std::move(json->value);
        fail("a value that must be JSON is not: " + json.error().message);
        return {};
    }

    Value time(std::int64_t seconds, std::int64_t nanoseconds, bool micro) {
        constexpr std::int64_t kClockEnds = 9'223'372'035;  // it counts in nanoseconds
        if (seconds < 0 || seconds > kClockEnds || nanoseconds < 0 || nanoseconds > 999'999'999) {
            fail("a time is outside of the years 1970 to 2262");
            return {};
        }
        const auto moment =
            Time(std::chrono::seconds(seconds) + std::chrono::microseconds(nanoseconds / 1000));
        return micro ? rfc3339_micro(moment) : rfc3339(moment);
    }

    std::string problem_;
};

/// "rbac.authorization.k8s.io/v1" and "Role": "rbac.v1.Role".
const Type* type_of(std::string_view api_version, std::string_view kind) {
    const TypeTable& table = TypeTable::built_in();
    if (kind == "DeleteOptions") return table.find("meta.DeleteOptions");
    const std::size_t slash = api_version.find('/');
    const bool core = slash == std::string_view::npos;
    const std::string_view group = core ? "core" : api_version.substr(0, slash);
    const std::string_view version = core ? api_version : api_version.substr(slash + 1);
    const std::string name = std::string(group.substr(0, group.find('.'))) + "." +
                             std::string(version) + "." + std::string(kind);
    const Type* type = table.find(name);
    const bool numbered =
        type != nullptr &&
        std::ranges::any_of(type->fields, [](const Field& field) { return !field.wire.empty(); });
    return numbered ? type : nullptr;
}

}  // namespace

Result<Value> read_protobuf(std::string_view bytes) {
    if (!bytes.starts_with(kMagic)) {
        return Error{ErrorCode::kInvalidInput, "provided data does not begin with k8s and a zero"};
    }
    const Few envelope(bytes.substr(kMagic.size()));
    const Few head(envelope.text(1));
    if (!envelope.good || !head.good) {
        return Error{ErrorCode::kInvalidInput, "the envelope of the message is cut off"};
    }
    const Type* type = type_of(head.text(1), head.text(2));
    if (type == nullptr) {
        return Error{ErrorCode::kNotFound, "the kind '" + std::string(head.text(2)) + "' of '" +
                                               std::string(head.text(1)) +
                                               "' is not read from protobuf here: send JSON"};
    }
    Reader reader;
    Value object = reader.message(envelope.text(2), *type);
    if (!reader.problem().empty()) return Error{ErrorCode::kInvalidInput, reader.problem()};
    object["apiVersion"] = head.text(1);
    object["kind"] = head.text(2);
    return object;
}

}  // namespace aliquot::sim::apiserver
