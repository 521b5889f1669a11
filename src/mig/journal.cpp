// SPDX-License-Identifier: Apache-2.0
#include "mig/journal.h"

#include <optional>

#include "base/number.h"
#include "document/json.h"
#include "document/write.h"
#include "document/yaml.h"

namespace aliquot::mig {
namespace {

using document::make_mapping;
using document::make_sequence;
using document::Value;

constexpr std::string_view kJournalFormat = "aliquot-mig-journal/1";
constexpr std::string_view kLastAppliedFormat = "aliquot-mig-wish/1";
constexpr unsigned kMostNumber = 1'000'000;

std::string checksum(std::string_view text) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const char c : text) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 1099511628211ULL;
    }
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string hex;
    for (int shift = 60; shift >= 0; shift -= 4) {
        hex += kDigits[(hash >> static_cast<unsigned>(shift)) & 0xFU];
    }
    return hex;
}

std::string sealed(std::string_view format, Value body) {
    return document::to_json(make_mapping({{"format", format},
                                           {"checksum", checksum(document::to_json(body))},
                                           {"body", std::move(body)}})) +
           '\n';
}

Value to_node(const Partitioning& cut) {
    Value instances = document::make_sequence();
    for (const Instance& instance : cut.instances) {
        Value one = make_mapping(
            {{"profile", instance.profile}, {"start", instance.start}, {"size", instance.size}});
        append(one, "compute", instance.compute);
        instances.items.push_back(std::move(one));
    }
    return make_mapping({{"enabled", cut.enabled}, {"instances", std::move(instances)}});
}

/// Reads a body; what is missing or of another kind makes it invalid as a whole.
class JournalReader {
public:
    [[nodiscard]] bool good() const { return good_; }

    const Value& child(const Value& node, std::string_view key) {
        static const Value kNothing;
        const Value* const found = node.find(key);
        if (found == nullptr) good_ = false;
        return found == nullptr ? kNothing : *found;
    }
    std::string text(const Value& node, std::string_view key) {
        const Value& value = child(node, key);
        good_ = good_ && value.is_string();
        return value.scalar;
    }
    unsigned number(const Value& value) {
        const auto result = parse_number<unsigned>(value.scalar);
        good_ = good_ && value.kind == Value::Kind::kInteger && result && *result <= kMostNumber;
        return result.value_or(0);
    }
    const std::vector<Value>& items(const Value& node, std::string_view key) {
        const Value& value = child(node, key);
        good_ = good_ && value.is_sequence();
        return value.items;
    }
    Partitioning cut(const Value& node) {
        Partitioning cut;
        const Value& enabled = child(node, "enabled");
        good_ = good_ && enabled.kind == Value::Kind::kBool;
        cut.enabled = enabled.scalar == "true";
        for (const Value& item : items(node, "instances")) {
            Instance instance{.profile = text(item, "profile"),
                              .start = number(child(item, "start")),
                              .size = number(child(item, "size"))};
            for (const Value& slices : items(item, "compute")) {
                instance.compute.push_back(number(slices));
            }
            cut.instances.push_back(std::move(instance));
        }
        return cut;
    }

private:
    bool good_ = true;
};

/// The body of a file whose seal is whole.
Result<Value> unsealed(std::string_view format, std::string_view text) {
    const Error damaged{ErrorCode::kInvalidInput,
                        "not a whole " + std::string(format) + " file: the checksum does not fit"};
    document::Stream stream = document::parse_yaml(text);
    if (!stream.errors.empty() || stream.documents.size() != 1) return damaged;
    const Value& root = stream.documents.front();
    const Value* const found = root.find("format");
    const Value* const sum = root.find("checksum");
    const Value* const body = root.find("body");
    if (found == nullptr || sum == nullptr || body == nullptr) return damaged;
    if (found->scalar != format) {
        return Error{ErrorCode::kInvalidInput,
                     "format '" + found->scalar.substr(0, 64) + "' is not " + std::string(format)};
    }
    if (sum->scalar != checksum(document::to_json(*body))) return damaged;
    return *body;
}

}  // namespace

std::string to_json(const Journal& journal) {
    Value gpus = make_sequence(journal.gpus, [&](const JournalEntry& entry) {
        return make_mapping({{"gpu", entry.gpu.text},
                             {"index", entry.index},
                             {"before", to_node(entry.before)},
                             {"wanted", to_node(entry.wanted)}});
    });
    const bool forward = journal.direction == Journal::Direction::kForward;
    Value body = make_mapping({{"direction", forward ? "forward" : "back"},
                               {"reason", journal.reason},
                               {"remember", journal.remember},
                               {"gpus", std::move(gpus)}});
    return sealed(kJournalFormat, std::move(body));
}

std::string to_json(const LastApplied& spec) {
    Value gpus = make_sequence(spec.gpus, [&](const LastApplied::Entry& entry) {
        return make_mapping(
            {{"gpu", entry.gpu.text}, {"index", entry.index}, {"cut", to_node(entry.cut)}});
    });
    Value body = make_mapping({{"gpus", std::move(gpus)}});
    return sealed(kLastAppliedFormat, std::move(body));
}

Result<Journal> parse_journal(std::string_view text) {
    auto body = unsealed(kJournalFormat, text);
    if (!body) return std::move(body).error();
    JournalReader reader;
    Journal journal;
    const std::string direction = reader.text(*body, "direction");
    const bool forward = direction == "forward";
    journal.direction = forward ? Journal::Direction::kForward : Journal::Direction::kBack;
    journal.reason = reader.text(*body, "reason");
    if (const Value* const remember = body->find("remember")) {  // older versions wrote none
        journal.remember = remember->scalar != "false";
    }
    for (const Value& item : reader.items(*body, "gpus")) {
        JournalEntry entry{.gpu = {reader.text(item, "gpu")},
                           .index = reader.number(reader.child(item, "index"))};
        entry.before = reader.cut(reader.child(item, "before"));
        entry.wanted = reader.cut(reader.child(item, "wanted"));
        journal.gpus.push_back(std::move(entry));
    }
    if (reader.good() && (forward || direction == "back")) return journal;
    return Error{ErrorCode::kInvalidInput, "a field of the MIG journal is missing or wrong"};
}

Result<LastApplied> parse_last_applied(std::string_view text) {
    auto body = unsealed(kLastAppliedFormat, text);
    if (!body) return std::move(body).error();
    JournalReader reader;
    LastApplied spec;
    for (const Value& item : reader.items(*body, "gpus")) {
        LastApplied::Entry entry{.gpu = {reader.text(item, "gpu")},
                                 .index = reader.number(reader.child(item, "index"))};
        entry.cut = reader.cut(reader.child(item, "cut"));
        spec.gpus.push_back(std::move(entry));
    }
    if (reader.good()) return spec;
    return Error{ErrorCode::kInvalidInput,
                 "a field of the MIG layout applied last is missing or wrong"};
}

}  // namespace aliquot::mig
