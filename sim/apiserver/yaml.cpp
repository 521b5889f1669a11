// SPDX-License-Identifier: Apache-2.0
#include "document/yaml.h"

#include <charconv>

#include "sim/apiserver/value.h"

namespace aliquot::sim::apiserver {

namespace {

class Converter {
public:
    Value convert(const document::Node& node) {
        using Kind = document::Node::Kind;
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
                return node.scalar;
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
        std::int64_t value = 0;
        const auto read =
            std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
        return read.ec == std::errc() ? Value(value) : number(text);
    }

    static Value number(std::string_view text) {
        if (text.starts_with('+')) text.remove_prefix(1);
        double value = 0;
        const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
        return read.ec == std::errc() ? Value(value) : Value(text);
    }

    Value sequence(const document::Node& node) {
        Value made = Value::array();
        for (const document::Node& item : node.items) made.push(convert(item));
        return made;
    }

    Value mapping(const document::Node& node) {
        Value made = Value::object();
        for (const document::Node::Entry& entry : node.entries) {
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

Error not_yaml(const document::Stream& stream) {
    const auto& first = stream.errors[0];
    return {ErrorCode::kInvalidInput,
            "YAML, line " + std::to_string(first.mark.line) + ": " + first.message};
}

}  // namespace

Result<std::vector<Value>> parse_yaml_documents(std::string_view text) {
    const document::Stream stream = document::parse_yaml(text);
    if (!stream.errors.empty()) return not_yaml(stream);
    std::vector<Value> documents;
    for (const document::Node& node : stream.documents) {
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
    const document::Stream stream = document::parse_yaml(text);
    if (!stream.errors.empty()) return not_yaml(stream);
    Converter converter;
    Parsed parsed;
    if (!stream.documents.empty()) parsed.value = converter.convert(stream.documents[0]);
    parsed.duplicates = std::move(converter.duplicates);
    return parsed;
}

}  // namespace aliquot::sim::apiserver
