// SPDX-License-Identifier: Apache-2.0
#include "document/yaml.h"

#include "base/number.h"
#include "document/json.h"
#include "sim/apiserver/value.h"

namespace aliquot::sim::apiserver {

namespace {

constexpr unsigned kDepthMax = 512;

/// Takes the texts out of the nodes.
class Converter {
public:
    Value convert(document::Value& node) {
        using Kind = document::Value::Kind;
        switch (node.kind) {
            case Kind::kNull:
                return {};
            case Kind::kBool:
                return node.scalar[0] == 't' || node.scalar[0] == 'T';
            case Kind::kInteger:
                return integer(node.scalar);
            case Kind::kFloat:
                return number(node.scalar);
            case Kind::kString:
                return std::move(node.scalar);
            case Kind::kSequence:
                return sequence(node);
            case Kind::kMapping:
                return mapping(node);
        }
        return {};
    }

    std::vector<std::string> duplicates;

private:
    static Value integer(std::string_view text) {
        int base = 10;
        if (text.starts_with("0x")) base = 16;
        if (text.starts_with("0o")) base = 8;
        std::string_view digits = base == 10 ? text : text.substr(2);
        if (digits.starts_with('+')) digits.remove_prefix(1);
        const auto value = take_number<std::int64_t>(digits, base);
        return value ? Value(*value) : number(text);
    }

    static Value number(std::string_view text) {
        if (text.starts_with('+')) text.remove_prefix(1);
        std::string_view left = text;
        const auto value = take_number<double>(left);
        return value ? Value(*value) : Value(text);
    }

    Value sequence(document::Value& node) {
        Value made = Value::array();
        const std::size_t length = path_.size();
        for (document::Value& item : node.items) {
            path_ += '[' + std::to_string(made.size()) + ']';
            made.push(convert(item));
            path_.resize(length);
        }
        return made;
    }

    Value mapping(document::Value& node) {
        Value made = Value::object();
        for (document::Value::Entry& entry : node.entries) {
            const std::string& key = entry.first.scalar;
            const std::size_t length = path_.size();
            path_ += path_.empty() ? key : "." + key;
            if (made.find(key) != nullptr && duplicates.size() < 16) duplicates.push_back(path_);
            made[key] = convert(entry.second);
            path_.resize(length);
        }
        return made;
    }

    std::string path_;
};

Parsed parsed_of(document::Value& node) {
    Converter converter;
    Parsed parsed;
    parsed.value = converter.convert(node);
    parsed.duplicates = std::move(converter.duplicates);
    return parsed;
}

Error not_yaml(const document::Stream& stream) {
    const auto& first = stream.errors[0];
    return {ErrorCode::kInvalidInput,
            "YAML, line " + std::to_string(first.mark.line) + ": " + first.message};
}

}  // namespace

Result<Parsed> parse_json(std::string_view text) {
    auto node = document::parse_json(text, {.depth = kDepthMax, .several = false});
    if (!node) return Error(node.error()).during("JSON");
    return parsed_of(*node);
}

Result<std::vector<Value>> parse_yaml_documents(std::string_view text) {
    document::Stream stream = document::parse_yaml(text);
    if (!stream.errors.empty()) return not_yaml(stream);
    std::vector<Value> documents;
    for (document::Value& node : stream.documents) {
        documents.push_back(Converter().convert(node));
    }
    return documents;
}

Result<Parsed> parse_yaml(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && (text[first] == '{' || text[first] == '[')) {
        auto json = parse_json(text);
        if (json) return json;
    }
    document::Stream stream = document::parse_yaml(text);
    if (!stream.errors.empty()) return not_yaml(stream);
    return stream.documents.empty() ? Parsed{} : parsed_of(stream.documents[0]);
}

}  // namespace aliquot::sim::apiserver
