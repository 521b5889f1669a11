// SPDX-License-Identifier: Apache-2.0
#include "lint/object.h"

#include <algorithm>
#include <array>

#include "k8s/resource_name.h"
#include "k8s/workload.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

const ResourceValue* find_in(const std::vector<ResourceValue>& values, std::string_view name) {
    const auto found = std::find_if(values.begin(), values.end(),
                                    [name](const ResourceValue& one) { return one.name == name; });
    return found == values.end() ? nullptr : &*found;
}

const ResourceValue* find_gpu(const std::vector<ResourceValue>& values) {
    const auto found = std::find_if(values.begin(), values.end(), [](const ResourceValue& one) {
        return k8s::is_gpu_resource(one.name);
    });
    return found == values.end() ? nullptr : &*found;
}

}  // namespace

bool is_capital_name(std::string_view text) {
    constexpr std::size_t kShortest = 4;  // not "TRUE" and "NO" alone: "INF", "NAN" are numbers
    if (text.size() < kShortest || text == "TRUE" || text == "FALSE" || text == "NULL")
        return false;
    return std::all_of(text.begin(), text.end(),
                       [](char one) { return (one >= 'A' && one <= 'Z') || one == '_'; });
}

bool is_placeholder(std::string_view text) {
    constexpr std::array<std::string_view, 12> kMarks{
        "____", "{{", "}}", "${", "$(", "%{", "...", "\xe2\x80\xa6", "@@", "<%", "{%", "[["};
    if (text.find('$') != std::string_view::npos) return true;
    for (const std::string_view mark : kMarks) {
        if (text.find(mark) != std::string_view::npos) return true;
    }
    const auto open = text.find('<');
    if (open != std::string_view::npos && text.find('>', open) != std::string_view::npos) {
        return true;
    }
    if (text.size() > 4 && text.starts_with("__") && text.ends_with("__")) return true;
    const std::string folded = lower(text);
    constexpr std::array<std::string_view, 14> kWords{
        "your_",       "your-",       "yourname",       "youruser",  "yourorg",
        "my-registry", "my_registry", "replace_me",     "replaceme", "changeme",
        "change-me",   "placeholder", "registry/image", "filled by"};
    if (std::any_of(kWords.begin(), kWords.end(), [&folded](std::string_view word) {
            return folded.find(word) != std::string::npos;
        })) {
        return true;
    }
    constexpr std::array<std::string_view, 6> kWhole{"xxx", "image",   "img",
                                                     "tag", "version", "foo"};
    return std::find(kWhole.begin(), kWhole.end(), folded) != kWhole.end();
}

std::string Object::group() const {
    const auto slash = api_version.find('/');
    return slash == std::string::npos ? std::string() : api_version.substr(0, slash);
}

Mark Object::mark() const {
    if (!node->is_mapping() || node->entries.empty()) return node->mark;
    // A key that is not there ("?" and nothing) has the place of what comes next, if anything does.
    const Value& first = node->entries.front().first;
    return !first.is_mapping() && !first.is_sequence() && first.scalar.empty() ? node->mark
                                                                               : first.mark;
}

bool Object::is_workload() const { return k8s::is_workload(kind); }

const ResourceValue* Container::find_request(std::string_view resource) const {
    return find_in(requests, resource);
}

const ResourceValue* Container::find_limit(std::string_view resource) const {
    return find_in(limits, resource);
}

const ResourceValue* Container::find(std::string_view resource) const {
    const ResourceValue* limit = find_limit(resource);
    return limit != nullptr ? limit : find_request(resource);
}

const ResourceValue* Container::gpu() const {
    const ResourceValue* limit = find_gpu(limits);
    return limit != nullptr ? limit : find_gpu(requests);
}

const EnvVar* Container::find_env(std::string_view wanted) const {
    const auto found = std::find_if(env.begin(), env.end(),
                                    [wanted](const EnvVar& one) { return one.name == wanted; });
    return found == env.end() ? nullptr : &*found;
}

bool PodSpec::has_claims() const {
    const Value* own = node == nullptr ? nullptr : node->find("resourceClaims");
    if (own != nullptr && !own->items.empty()) return true;
    return std::any_of(containers.begin(), containers.end(),
                       [](const Container& one) { return !one.claims.empty(); });
}

bool PodSpec::asks_gpu() const {
    return has_claims() || std::any_of(containers.begin(), containers.end(),
                                       [](const Container& one) { return one.gpu() != nullptr; });
}

}  // namespace aliquot::lint
