// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/decode.h"

#include "base/base64.h"
#include "base/time_text.h"
#include "k8s/quantity.h"

namespace aliquot::sim::apiserver {

namespace {

using Kind = Type::Kind;

std::string below(const std::string& path, const std::string& name) {
    return path.empty() ? name : path + "." + name;
}

std::string describe(const Value& value) {
    if (value.is_object()) return "object";
    if (value.is_array()) return "array";
    if (value.is_string()) return "string";
    if (value.is_bool()) return "bool";
    return value.is_null() ? "null" : "number";
}

class Decoder {
public:
    explicit Decoder(Decoded& decoded) : decoded_(decoded) {}

    Value decode(const Value& value, const Type& type, const std::string& path, unsigned depth) {
        if (value.is_null() || depth > 200) return {};
        switch (type.kind) {
            case Kind::kAny:
                return value;
            case Kind::kString:
                return expect(value, value.is_string(), "string", path);
            case Kind::kBool:
                return expect(value, value.is_bool(), "bool", path);
            case Kind::kNumber:
                return expect(value, value.is_number(), "number", path);
            case Kind::kInteger:
                return integer(value, path);
            case Kind::kIntOrString:
                if (value.is_string()) return value;
                return integer(value, path);
            case Kind::kBytes:
                return bytes(value, path);
            case Kind::kTime:
            case Kind::kMicroTime:
                return time(value, type.kind == Kind::kMicroTime, path);
            case Kind::kQuantity:
                return quantity(value, path);
            case Kind::kList:
                return list(value, type, path, depth);
            case Kind::kMap:
                return map(value, type, path, depth);
            case Kind::kObject:
                return object(value, type, path, depth);
        }
        return value;
    }

private:
    Value mismatch(const Value& value, const std::string& wanted, const std::string& path) {
        decoded_.mismatches.push_back("json: cannot unmarshal " + describe(value) + " into field " +
                                      path + " of type " + wanted);
        return {};
    }

    Value expect(const Value& value, bool good, const std::string& wanted,
                 const std::string& path) {
        return good ? value : mismatch(value, wanted, path);
    }

    Value integer(const Value& value, const std::string& path) {
        constexpr std::int64_t kNone = INT64_MIN;
        if (!value.is_number() || value.integer(kNone) == kNone) {
            return mismatch(value, "integer", path);
        }
        return value.integer();
    }

    Value bytes(const Value& value, const std::string& path) {
        if (!value.is_string()) return mismatch(value, "[]byte", path);
        const auto content = decode_base64(value.text());
        if (!content) {
            decoded_.mismatches.push_back("illegal base64 data in field " + path);
            return {};
        }
        return encode_base64(*content);
    }

    Value time(const Value& value, bool micro, const std::string& path) {
        if (!value.is_string()) return mismatch(value, "time", path);
        const auto moment = parse_rfc3339(value.text());
        if (!moment) {
            decoded_.mismatches.push_back("parsing time \"" + value.text() + "\" of field " + path +
                                          ": expected RFC 3339");
            return {};
        }
        return micro ? rfc3339_micro(*moment) : rfc3339(*moment);
    }

    Value quantity(const Value& value, const std::string& path) {
        const auto amount =
            k8s::Quantity::parse_field(value.is_number() ? to_json(value) : value.text());
        if (amount && (value.is_string() || value.is_number())) return amount->canonical();
        decoded_.mismatches.push_back(
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$', field " +
            path);
        return {};
    }

    Value list(const Value& value, const Type& type, const std::string& path, unsigned depth) {
        if (!value.is_array()) return mismatch(value, "list", path);
        if (value.items().empty()) return {};
        Value made = Value::array();
        for (std::size_t i = 0; i < value.size(); ++i) {
            const std::string place = path + "[" + std::to_string(i) + "]";
            Value item = decode(value.items()[i], *type.element, place, depth + 1);
            if (item.is_null() && type.element->kind == Kind::kObject) item = Value::object();
            made.push(std::move(item));
        }
        return made;
    }

    Value map(const Value& value, const Type& type, const std::string& path, unsigned depth) {
        if (!value.is_object()) return mismatch(value, "map", path);
        if (value.members().empty()) return {};
        Value made = Value::object();
        for (const Member& member : value.members()) {
            Value content =
                decode(member.value, *type.element, below(path, member.name), depth + 1);
            if (content.is_null())
                content = type.element->kind == Kind::kString ? Value("") : Value();
            made[member.name] = std::move(content);
        }
        return made;
    }

    Value object(const Value& value, const Type& type, const std::string& path, unsigned depth) {
        if (!value.is_object()) return mismatch(value, type.name, path);
        Value made = Value::object();
        for (const Member& member : value.members()) {
            const Field* field = type.find(member.name);
            if (field == nullptr) {
                decoded_.unknown.push_back(below(path, member.name));
                continue;
            }
            Value content = decode(member.value, *field->type, below(path, member.name), depth + 1);
            if (!content.is_null()) made.members().push_back({member.name, std::move(content)});
        }
        return made;
    }

    Decoded& decoded_;
};

class Pruner {
public:
    explicit Pruner(Decoded& decoded) : decoded_(decoded) {}

    void prune(Value& value, const Type& type, const std::string& path, bool preserve) {
        preserve = preserve || type.preserve_unknown;
        if (type.kind == Kind::kList && value.is_array()) {
            for (std::size_t i = 0; i < value.size(); ++i) {
                prune(value.items()[i], *type.element, path + "[" + std::to_string(i) + "]", false);
            }
        } else if (type.kind == Kind::kMap && value.is_object()) {
            for (Member& member : value.members()) {
                prune(member.value, *type.element, below(path, member.name), false);
            }
        } else if (type.kind == Kind::kObject && value.is_object()) {
            std::erase_if(value.members(), [&](const Member& member) {
                const bool embedded =
                    type.embedded && (member.name == "apiVersion" || member.name == "kind" ||
                                      member.name == "metadata");
                if (preserve || embedded || type.member(member.name) != nullptr) return false;
                decoded_.unknown.push_back(below(path, member.name));
                return true;
            });
            for (Member& member : value.members()) {
                const Type* inner = type.member(member.name);
                if (inner != nullptr && !(path.empty() && member.name == "metadata")) {
                    prune(member.value, *inner, below(path, member.name), false);
                }
            }
        }
    }

private:
    Decoded& decoded_;
};

}  // namespace

Decoded decode_built_in(const Value& value, const Type& type) {
    Decoded decoded;
    decoded.value = Decoder(decoded).decode(value, type, "", 0);
    if (!decoded.value.is_object()) decoded.value = Value::object();
    return decoded;
}

Decoded decode_custom(const Value& value, const Type& type) {
    Decoded decoded;
    decoded.value = value.is_object() ? value : Value::object();
    const Field* metadata = type.find("metadata");
    if (metadata != nullptr && decoded.value.find("metadata") != nullptr) {
        decoded.value["metadata"] =
            Decoder(decoded).decode(value.at("metadata"), *metadata->type, "metadata", 1);
    }
    Pruner(decoded).prune(decoded.value, type, "", false);
    return decoded;
}

void apply_schema_defaults(Value& value, const Type& type) {
    if (type.kind == Kind::kList && value.is_array()) {
        for (Value& item : value.items()) apply_schema_defaults(item, *type.element);
    } else if (type.kind == Kind::kMap && value.is_object()) {
        for (Member& member : value.members()) apply_schema_defaults(member.value, *type.element);
    } else if (type.kind == Kind::kObject && value.is_object() && !type.schema.is_null()) {
        for (const Field& field : type.fields) {
            if (field.default_value.is_null()) continue;
            Value& place = value[field.name];
            if (place.is_null()) place = field.default_value;
        }
        for (Member& member : value.members()) {
            const Type* inner = type.member(member.name);
            if (inner != nullptr) apply_schema_defaults(member.value, *inner);
        }
    }
}

}  // namespace aliquot::sim::apiserver
