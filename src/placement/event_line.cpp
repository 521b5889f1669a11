// SPDX-License-Identifier: Apache-2.0
#include "placement/event_line.h"

#include <algorithm>
#include <array>

#include "base/number.h"
#include "base/sentence.h"
#include "base/take_text.h"

namespace aliquot::placement {
namespace {

constexpr std::size_t kMostItems = 4'096;  // of one list
constexpr double kMostWeight = 1e6;
constexpr double kMostExponent = 8;
constexpr std::int64_t kMost32 = 2'147'483'647;

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '/' || c == '*' || c == '-';
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

std::string field(std::string_view key, std::string_view value) {
    return " " + std::string(key) + "=" + std::string(value);
}
std::string field(std::string_view key, std::int64_t value) {
    return field(key, std::to_string(value));
}

std::string joined(const std::vector<std::string>& texts) {
    std::string all = listed(
        texts, [](const std::string& text) { return encoded(text); }, ",");
    return all;
}

std::string joined(const std::vector<std::pair<std::string, std::string>>& pairs) {
    std::string all;
    for (const auto& [key, value] : pairs)
        all += (all.empty() ? "" : ",") + encoded(key) + ":" + encoded(value);
    return all;
}

template <class Numbers>
std::string joined_numbers(const Numbers& numbers, std::size_t count) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i)
        all += (i == 0 ? "" : ",") + std::to_string(static_cast<std::int64_t>(numbers[i]));
    return all;
}

std::string_view word_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::kInvalidInput:
            return "invalid-input";
        case ErrorCode::kNotFound:
            return "not-found";
        case ErrorCode::kConflict:
            return "conflict";
        case ErrorCode::kUnsupported:
            return "unsupported";
        case ErrorCode::kPermission:
            return "permission";
        case ErrorCode::kUnavailable:
            return "unavailable";
        case ErrorCode::kInternal:
            return "internal";
    }
    return "internal";
}

std::size_t items_in(std::string_view list) {
    if (list.empty()) return 0;
    return 1 + static_cast<std::size_t>(std::count(list.begin(), list.end(), ','));
}

}  // namespace

std::string encoded(std::string_view text) {
    static constexpr std::string_view kDigits = "0123456789ABCDEF";
    if (text.empty()) return "%-";
    std::string all;
    for (const char c : text) {
        if (is_plain(c)) {
            all += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        all += '%';
        all += kDigits[byte >> 4U];
        all += kDigits[byte & 15U];
    }
    return all;
}

std::string exact(double number) {
    std::array<char, 64> digits{};
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::hex);
    return {digits.data(), end.ptr};
}

std::string fields_of(const Options& options) {
    const Weights& weights = options.weights;
    return field("policy", to_text(options.policy)) + field("seed", std::to_string(options.seed)) +
           field("learn", options.learn ? 1 : 0) + field("learn_every", options.learn_every) +
           field("fragmentation", exact(weights.fragmentation)) +
           field("packing", exact(weights.packing)) + field("scarcity", exact(weights.scarcity)) +
           field("scarcity_most", exact(weights.scarcity_most)) +
           field("size", exact(weights.size)) + field("waste", exact(weights.waste)) +
           field("order", exact(weights.order)) + field("price", exact(weights.price)) +
           field("power", exact(weights.power));
}

std::string fields_of(const MigGeometry& geometry) {
    std::string all = field("model", encoded(geometry.model));
    all += field("profiles", static_cast<std::int64_t>(geometry.profiles.size()));
    for (const MigProfile& profile : geometry.profiles)
        all += field("name", encoded(profile.name)) + field("width", profile.width) +
               field("starts", profile.starts) + field("milli", profile.milli);
    return all;
}

std::string fields_of(const NodeSpec& spec) {
    return field("name", encoded(spec.name)) + field("cpu", spec.cpu_milli) +
           field("memory", spec.memory_mib) + field("devices", spec.devices) +
           field("model", encoded(spec.model)) + field("device_mib", spec.device_mib) +
           field("mig", spec.mig_devices) +
           field("links", joined_numbers(spec.link_group, spec.link_group.size())) +
           field("labels", joined(spec.labels)) + field("taints", joined(spec.taints)) +
           field("price", spec.milli_price_per_hour) + field("watts", spec.idle_watts) +
           field("rank", spec.rank);
}

std::string fields_of(const Request& request) {
    return field("cpu", request.cpu_milli) + field("memory", request.memory_mib) +
           field("gpus", request.gpus) + field("milli", request.milli) + field("mib", request.mib) +
           field("mig", encoded(request.mig_profile)) + field("models", joined(request.models)) +
           field("selector", joined(request.selector)) +
           field("tolerations", joined(request.tolerations)) +
           field("apart", encoded(request.anti_affinity)) +
           field("movable", request.movable ? 1 : 0);
}

std::string fields_of(std::span<const TaskType> types) {
    std::string all = field("types", static_cast<std::int64_t>(types.size()));
    for (const TaskType& type : types)
        all += field("popularity", exact(type.popularity)) + field("seldom", exact(type.seldom)) +
               fields_of(type.request);
    return all;
}

std::string fields_of(const Placement& where) {
    return field("node", where.node) +
           field("on", joined_numbers(where.devices, where.devices.size())) +
           field("start", where.mig_start);
}

std::string outcome_of(const Placement& placed) {
    const Breakdown& cost = placed.cost;
    const std::array<std::int64_t, 7> terms{cost.fragmentation, cost.packing, cost.waste,
                                            cost.order,         cost.price,   cost.power,
                                            cost.total};
    return "id=" + std::to_string(placed.id) + fields_of(placed) +
           field("cost", joined_numbers(terms, terms.size()));
}

std::string outcome_of(const Error& error) { return "refused " + std::string(word_of(error.code)); }

std::string Chain::next_check(std::string_view payload) {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    for (const char c : payload) {
        sum_ ^= static_cast<unsigned char>(c);
        sum_ *= 0x100000001B3ULL;
    }
    std::string check(16, '0');
    for (unsigned i = 0; i < 16; ++i) check[i] = kDigits[(sum_ >> (60U - 4U * i)) & 15U];
    return check;
}

std::string Chain::sealed(std::string_view payload) {
    std::string line(payload);
    line += " #" + next_check(payload) + "\n";
    return line;
}

void FieldReader::fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
    rest_ = {};
}

std::string_view FieldReader::word() { return take_until(rest_, ' '); }

std::string_view FieldReader::value(std::string_view key) {
    if (!error_.empty()) return {};
    const std::string_view next = word();
    if (next.size() > key.size() && next.starts_with(key) && next[key.size()] == '=')
        return next.substr(key.size() + 1);
    fail("found '" + std::string(next.substr(0, 40)) + "', expected " + std::string(key) + "=");
    return {};
}

std::string FieldReader::decoded(std::string_view key, std::string_view text) {
    if (text == "%-") return {};
    std::string all;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            all += text[i];
            continue;
        }
        const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
        const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0) break;
        all += static_cast<char>(high * 16 + low);
        i += 2;
    }
    if (encoded(all) == text) return all;
    fail(std::string(key) + " is '" + std::string(text.substr(0, 40)) +
         "', expected text with other bytes than letters, digits and ._/*- as %XX");
    return {};
}

std::int64_t FieldReader::parsed(std::string_view key, std::string_view text, std::int64_t least,
                                 std::int64_t most) {
    const auto number = parse_number<std::int64_t>(text);
    if (number && *number >= least && *number <= most && std::to_string(*number) == text)
        return *number;
    fail(std::string(key) + " is '" + std::string(text.substr(0, 40)) + "', expected a number of " +
         std::to_string(least) + " to " + std::to_string(most));
    return least;
}

std::string FieldReader::text(std::string_view key) {
    const std::string_view found = value(key);
    return error_.empty() ? decoded(key, found) : std::string();
}

std::int64_t FieldReader::number(std::string_view key, std::int64_t least, std::int64_t most) {
    const std::string_view found = value(key);
    return error_.empty() ? parsed(key, found, least, most) : least;
}

std::uint64_t FieldReader::big_number(std::string_view key) {
    const std::string_view found = value(key);
    const auto number = parse_number<std::uint64_t>(found);
    if (error_.empty() && (!number || std::to_string(*number) != found))
        fail(std::string(key) + " is '" + std::string(found.substr(0, 40)) +
             "', expected a number of 64 bits");
    return number.value_or(0);
}

double FieldReader::real(std::string_view key, double least, double most) {
    const std::string_view found = value(key);
    if (!error_.empty()) return 0;
    double number = 0;
    const auto end =
        std::from_chars(found.data(), found.data() + found.size(), number, std::chars_format::hex);
    if (end.ec == std::errc() && number >= least && number <= most && exact(number) == found)
        return number;
    fail(std::string(key) + " is '" + std::string(found.substr(0, 40)) +
         "', expected a hexadecimal number of " + exact(least) + " to " + exact(most));
    return 0;
}

std::vector<std::int64_t> FieldReader::numbers(std::string_view key, std::size_t most_items,
                                               std::int64_t most) {
    std::string_view list = value(key);
    std::vector<std::int64_t> all;
    if (items_in(list) > most_items) {
        fail(std::string(key) + " has more than " + std::to_string(most_items) + " entries");
        return all;
    }
    for (std::size_t i = items_in(list); i > 0 && error_.empty(); --i)
        all.push_back(parsed(key, take_until(list, ','), 0, most));
    return all;
}

std::vector<std::string> FieldReader::texts(std::string_view key) {
    std::string_view list = value(key);
    std::vector<std::string> all;
    if (items_in(list) > kMostItems) fail(std::string(key) + " has too many entries");
    for (std::size_t i = items_in(list); i > 0 && error_.empty(); --i)
        all.push_back(decoded(key, take_until(list, ',')));
    return all;
}

std::vector<std::pair<std::string, std::string>> FieldReader::pairs(std::string_view key) {
    std::string_view list = value(key);
    std::vector<std::pair<std::string, std::string>> all;
    if (items_in(list) > kMostItems) fail(std::string(key) + " has too many entries");
    for (std::size_t i = items_in(list); i > 0 && error_.empty(); --i) {
        std::string_view item = take_until(list, ',');
        if (item.find(':') == std::string_view::npos)
            fail(std::string(key) + " is '" + std::string(item.substr(0, 40)) +
                 "', expected name:value");
        std::string name = decoded(key, take_until(item, ':'));
        all.emplace_back(std::move(name), decoded(key, item));
    }
    return all;
}

Options FieldReader::options() {
    Options options;
    const std::string_view word = value("policy");
    const auto policy = parse_policy(word);
    if (policy)
        options.policy = *policy;
    else
        fail("policy is '" + std::string(word.substr(0, 40)) + "', expected the name of a policy");
    options.seed = big_number("seed");
    options.learn = number("learn", 0, 1) == 1;
    options.learn_every = static_cast<std::uint32_t>(number("learn_every", 0, 0xFFFF'FFFF));
    Weights& weights = options.weights;
    weights.fragmentation = real("fragmentation", 0, kMostWeight);
    weights.packing = real("packing", 0, kMostWeight);
    weights.scarcity = real("scarcity", -kMostExponent, kMostExponent);
    weights.scarcity_most = real("scarcity_most", 0, kMostWeight);
    weights.size = real("size", -kMostExponent, kMostExponent);
    weights.waste = real("waste", 0, kMostWeight);
    weights.order = real("order", 0, kMostWeight);
    weights.price = real("price", 0, kMostWeight);
    weights.power = real("power", 0, kMostWeight);
    return options;
}

MigGeometry FieldReader::geometry() {
    MigGeometry geometry{.model = text("model"), .profiles = {}};
    for (std::int64_t left = number("profiles", 0, 256); left > 0 && error_.empty(); --left) {
        MigProfile profile;
        profile.name = text("name");
        profile.width = static_cast<std::uint8_t>(number("width", 0, 255));
        profile.starts = static_cast<std::uint8_t>(number("starts", 0, 255));
        profile.milli = static_cast<std::int32_t>(number("milli", -kMost32, kMost32));
        geometry.profiles.push_back(std::move(profile));
    }
    return geometry;
}

NodeSpec FieldReader::node() {
    NodeSpec spec;
    spec.name = text("name");
    spec.cpu_milli = static_cast<std::int32_t>(number("cpu", -kMost32, kMost32));
    spec.memory_mib = static_cast<std::int32_t>(number("memory", -kMost32, kMost32));
    spec.devices = static_cast<std::uint8_t>(number("devices", 0, 255));
    spec.model = text("model");
    spec.device_mib = static_cast<std::int32_t>(number("device_mib", -kMost32, kMost32));
    spec.mig_devices = static_cast<std::uint16_t>(number("mig", 0, 65'535));
    const auto links = numbers("links", spec.link_group.size(), 255);
    if (error_.empty() && links.size() != spec.link_group.size())
        fail("links has " + std::to_string(links.size()) + " entries, expected " +
             std::to_string(spec.link_group.size()));
    for (std::size_t i = 0; error_.empty() && i < links.size(); ++i)
        spec.link_group[i] = static_cast<std::uint8_t>(links[i]);
    spec.labels = pairs("labels");
    spec.taints = pairs("taints");
    spec.milli_price_per_hour = static_cast<std::int32_t>(number("price", -kMost32, kMost32));
    spec.idle_watts = static_cast<std::int32_t>(number("watts", -kMost32, kMost32));
    spec.rank = static_cast<std::uint32_t>(number("rank", 0, 0xFFFF'FFFF));
    return spec;
}

Request FieldReader::request() {
    Request request;
    request.cpu_milli = static_cast<std::int32_t>(number("cpu", -kMost32, kMost32));
    request.memory_mib = static_cast<std::int32_t>(number("memory", -kMost32, kMost32));
    request.gpus = static_cast<std::uint8_t>(number("gpus", 0, 255));
    request.milli = static_cast<std::int32_t>(number("milli", -kMost32, kMost32));
    request.mib = static_cast<std::int32_t>(number("mib", -kMost32, kMost32));
    request.mig_profile = text("mig");
    request.models = texts("models");
    request.selector = pairs("selector");
    request.tolerations = pairs("tolerations");
    request.anti_affinity = text("apart");
    request.movable = number("movable", 0, 1) == 1;
    return request;
}

std::vector<TaskType> FieldReader::types() {
    std::vector<TaskType> types;
    for (std::int64_t left = number("types", 0, kMostItems); left > 0 && error_.empty(); --left) {
        TaskType type;
        type.popularity = real("popularity", 0, 1);
        type.seldom = real("seldom", 0, 1);
        type.request = request();
        types.push_back(std::move(type));
    }
    return types;
}

Placement FieldReader::where() {
    Placement where;
    where.node = static_cast<NodeId>(number("node", 0, 0xFFFF'FFFF));
    for (const std::int64_t device : numbers("on", 255, 255))
        where.devices.push_back(static_cast<std::uint8_t>(device));
    where.mig_start = static_cast<std::uint8_t>(number("start", 0, 255));
    return where;
}

void FieldReader::end() {
    if (error_.empty() && !rest_.empty())
        fail("found '" + std::string(rest_.substr(0, 40)) + "', expected the end of the line");
}

}  // namespace aliquot::placement
