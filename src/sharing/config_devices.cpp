// SPDX-License-Identifier: Apache-2.0
// `devices` of a shared resource, and entries that leave each other nothing.
#include <algorithm>

#include "base/number.h"
#include "document/write.h"
#include "sharing/config_reader.h"

namespace aliquot::sharing {
namespace {

constexpr std::string_view kForms = "all, a count, or a list of indices, UUIDs and model patterns";
constexpr std::string_view kNvidiaForms = "all, a count, or a list of indices and UUIDs";

std::optional<unsigned> index_of(std::string_view text) {
    const auto value = parse_number<unsigned>(text);
    return value && *value <= 1023 ? value : std::nullopt;
}

bool is_mig_index(std::string_view text) {
    const auto colon = text.find(':');
    return colon != std::string_view::npos && index_of(text.substr(0, colon)) &&
           index_of(text.substr(colon + 1));
}

template <class T>
void add_once(std::vector<T>& list, T value) {
    if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(std::move(value));
}

void complain(Reader& reader, const Value& node, std::string_view path, std::string fix) {
    std::string message = "'" + std::string(path) + "' is " + document::describe(node);
    reader.error(node.mark, rule::kDevices, std::move(message),
                 {std::string(reader.strict() ? kForms : kNvidiaForms), std::move(fix)});
}

/// One item of the list; false when it is none (complained about).
bool add_item(Reader& reader, const Value& item, const std::string& path,
              DeviceSelector& selector) {
    const bool scalar = item.is_string() || item.kind == Value::Kind::kInteger;
    if (scalar) {
        if (const auto index = index_of(item.scalar)) {
            add_once(selector.indices, *index);
            return true;
        }
    }
    if (!item.is_string() || item.scalar.empty() || item.scalar == "all") {
        complain(reader, item, path,
                 item.is_string() && item.scalar == "all" ? "devices: all" : "");
        return false;
    }
    if (item.scalar.starts_with("GPU-")) {
        add_once(selector.uuids, item.scalar);
        return true;
    }
    if (item.scalar.starts_with("MIG-") || is_mig_index(item.scalar)) {
        add_once(selector.mig, item.scalar);
        return true;
    }
    if (!reader.strict()) {
        complain(reader, item, path, "");
        return false;
    }
    const bool pattern = item.scalar.find_first_of("*?") != std::string::npos;
    if (!pattern && item.scalar.find(' ') == std::string::npos) {
        reader.warning(item.mark, rule::kDevices,
                       "'" + path + "' is '" + item.scalar +
                           "', which fits only a GPU whose whole model name is that",
                       {"a whole model name such as \"NVIDIA A2\", or a pattern",
                        "devices: [\"*" + item.scalar + "*\"]"});
    }
    add_once(selector.models, item.scalar);
    return true;
}

std::optional<DeviceSelector> selector_of(Reader& reader, const Value& node,
                                          const std::string& path) {
    DeviceSelector selector;
    if (node.is_string() && node.scalar == "all") return selector;
    selector.all = false;
    if (node.kind == Value::Kind::kInteger) {
        const auto count = integer_of(node, reader.strict());
        if (!count || *count < 1 || *count > 1024) {
            complain(reader, node, path, "devices: all");
            return std::nullopt;
        }
        selector.first = static_cast<unsigned>(*count);
        return selector;
    }
    if (!node.is_sequence() || node.items.empty()) {
        std::string fix = "devices: all";
        const bool selects =
            node.is_string() && (node.scalar.find_first_of("*?0123456789") != std::string::npos);
        if (selects) fix = "devices: [" + document::scalar_text(node) + "]";
        complain(reader, node, path, fix);
        return std::nullopt;
    }
    bool good = true;
    for (std::size_t i = 0; i < node.items.size(); ++i) {
        good =
            add_item(reader, node.items[i], path + '[' + std::to_string(i) + ']', selector) && good;
    }
    if (!good) return std::nullopt;
    return selector;
}

/// Whether GPUs that `later` selects are surely selected by one of `earlier` too.
bool covers(const std::vector<const DeviceSelector*>& earlier, const DeviceSelector& later) {
    const auto any = [&earlier](auto&& test) {
        return std::any_of(earlier.begin(), earlier.end(), test);
    };
    const auto in = [](const auto& list, const auto& value) {
        return std::find(list.begin(), list.end(), value) != list.end();
    };
    if (any([&](const DeviceSelector* one) {
            return one->all || in(one->models, std::string("*"));
        })) {
        return true;
    }
    if (later.all) return false;
    if (later.first && !any([&](const DeviceSelector* one) {
            return one->first && *one->first >= *later.first;
        })) {
        return false;
    }
    const auto listed = [&any, &in](const auto& wanted, auto member) {
        return std::all_of(wanted.begin(), wanted.end(), [&](const auto& value) {
            return any([&](const DeviceSelector* one) { return in(one->*member, value); });
        });
    };
    const bool indices =
        std::all_of(later.indices.begin(), later.indices.end(), [&](unsigned index) {
            return any([&](const DeviceSelector* one) {
                return in(one->indices, index) || (one->first && index < *one->first);
            });
        });
    return indices && listed(later.uuids, &DeviceSelector::uuids) &&
           listed(later.models, &DeviceSelector::models) && listed(later.mig, &DeviceSelector::mig);
}

}  // namespace

std::optional<DeviceSelector> read_devices(Reader& reader, const Fields& fields) {
    const Value* node = fields.find("devices");
    if (node == nullptr) return DeviceSelector{};
    return selector_of(reader, *node, fields.path_of("devices"));
}

void find_shadowed(Reader& reader, const std::vector<SharedResource>& resources,
                   std::string_view path) {
    constexpr std::size_t kMostCompared = 200;  // quadratic
    for (std::size_t i = 1; i < resources.size() && i < kMostCompared; ++i) {
        std::vector<const DeviceSelector*> earlier;
        for (std::size_t j = 0; j < i; ++j) {
            if (resources[j].name == resources[i].name) earlier.push_back(&resources[j].devices);
        }
        if (earlier.empty() || !covers(earlier, resources[i].devices)) continue;
        reader.warning(resources[i].mark, rule::kNeverMatches,
                       "this entry of '" + std::string(path) +
                           "' never gets a GPU: a GPU belongs " +
                           "to the first entry that fits it, and earlier ones for " +
                           resources[i].name + " take them all",
                       {"the entry for all other GPUs ('devices: all') last", ""});
    }
}

}  // namespace aliquot::sharing
