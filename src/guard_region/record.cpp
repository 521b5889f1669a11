// SPDX-License-Identifier: Apache-2.0
#include "guard_region/record.h"

#include <algorithm>
#include <utility>

#include "base/number.h"

namespace aliquot::guard_region {
namespace {

constexpr std::string_view kHead = "aliquot region 1";
constexpr std::size_t kMostLines = 4096;

std::string line(std::string_view key, std::string_view value) {
    std::string text(key);
    text += ' ';
    for (const char c : value) text += c == '\n' ? ' ' : c;
    return text + '\n';
}

}  // namespace

std::string to_text(const Record& record) {
    std::string text = std::string(kHead) + '\n';
    text += line("resource", record.resource);
    text += line("library", record.library);
    text += line("created-us", std::to_string(record.created_us));
    text += line("holder", record.holder);
    text += line("ledger", std::to_string(record.ledger));
    text += line("ledger-bytes", std::to_string(record.ledger_bytes));
    for (const std::string& id : record.device_ids) text += line("device", id);
    for (const std::string& uuid : record.uuids) text += line("uuid", uuid);
    for (const std::string& group : record.groups) text += line("group", group);
    return text;
}

Result<Record> parse_record(std::string_view text) {
    const Error malformed{ErrorCode::kInvalidInput, "not a region's record of this version"};
    Record record;
    bool first = true;
    for (std::size_t lines = 0; !text.empty(); ++lines) {
        if (lines >= kMostLines) return malformed;
        const auto end = text.find('\n');
        if (end == text.npos) return malformed;  // cut short
        const std::string_view one = text.substr(0, end);
        text.remove_prefix(end + 1);
        if (first && one != kHead) return malformed;
        if (std::exchange(first, false)) continue;
        const auto blank = one.find(' ');
        if (blank == one.npos) return malformed;
        const std::string_view key = one.substr(0, blank);
        const std::string value(one.substr(blank + 1));
        if (key == "resource") record.resource = value;
        if (key == "library") record.library = value;
        if (key == "holder") record.holder = value;
        if (key == "device") record.device_ids.push_back(value);
        if (key == "uuid") record.uuids.push_back(value);
        if (key == "group") record.groups.push_back(value);
        if (key == "ledger" || key == "ledger-bytes") {
            const auto number = parse_number<std::uint64_t>(value);
            if (!number) return malformed;
            (key == "ledger" ? record.ledger : record.ledger_bytes) = *number;
        }
        if (key != "created-us") continue;
        const auto created_us = parse_number<decltype(record.created_us)>(value);
        if (!created_us) return malformed;
        record.created_us = *created_us;
    }
    if (first) return malformed;
    return record;
}

}  // namespace aliquot::guard_region
