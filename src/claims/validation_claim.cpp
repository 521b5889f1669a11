// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "base/number.h"
#include "base/text.h"
#include "claims/problems.h"
#include "document/path.h"
#include "k8s/names.h"
#include "k8s/resource_name.h"

namespace aliquot::claims {
namespace {

using document::Value;

constexpr std::size_t kMostRequests = 32;
constexpr std::size_t kMostAlternatives = 8;
constexpr std::size_t kMostTolerations = 16;
constexpr std::size_t kMostReserved = 256;

using RequestNames = std::set<std::string>;

RequestNames names_of(const Value& spec) {
    RequestNames names;
    for (const Value& request : document::items_at(spec, {"devices", "requests"})) {
        const std::string name = document::text_at(request, "name");
        names.insert(name);
        for (const Value& one : document::items_at(request, {"firstAvailable"})) {
            names.insert(name + "/" + document::text_at(one, "name"));
        }
    }
    return names;
}

void check_references(Problems& problems, const std::string& field, const Value& node,
                      const RequestNames& names) {
    check_list(problems, field + ".requests", node.find("requests"), kMostRequests, "",
               [&](const Value& one, const std::string& path) {
                   if (names.contains(one.scalar)) return;
                   problems.invalid(path, one,
                                    "must be the name of a request in the claim or the name of a "
                                    "request and a subrequest separated by '/'");
               });
}

void check_mode(Problems& problems, const std::string& field, const Value& subrequest) {
    const std::string mode = document::text_at(subrequest, "allocationMode");
    const Value* const count = subrequest.find("count");
    const auto number = count == nullptr ? std::nullopt : parse_number<std::int64_t>(count->scalar);
    if (mode == "All") {
        if (number.value_or(0) != 0) {
            problems.invalid(field + ".count", *count,
                             "must not be specified when allocationMode is 'All'");
        }
    } else if (mode == "ExactCount" || mode.empty()) {
        if (count != nullptr && number.value_or(1) <= 0) {
            problems.invalid(field + ".count", *count, "must be greater than zero");
        }
    } else {
        problems.unsupported(field + ".allocationMode", *subrequest.find("allocationMode"),
                             "All, ExactCount");
    }
}

void check_subrequest(Problems& problems, const std::string& field, const Value& subrequest) {
    problems.need_name(field, subrequest, "deviceClassName", k8s::check_dns_subdomain);
    check_selectors(problems, field, subrequest);
    check_mode(problems, field, subrequest);
    check_list(
        problems, field + ".tolerations", subrequest.find("tolerations"), kMostTolerations, "",
        [&](const Value& one, const std::string& path) { check_toleration(problems, path, one); });
    for (const auto& [key, amount] : document::entries_at(subrequest, {"capacity", "requests"})) {
        check_qualified(problems, field + ".capacity.requests", key, false);
    }
}

void check_request(Problems& problems, const std::string& field, const Value& request) {
    problems.need_name(field, request, "name", k8s::check_dns_label);
    const Value* const exactly = request.find("exactly");
    const Value* const first = request.find("firstAvailable");
    const bool has_first = first != nullptr && !first->items.empty();
    if (exactly == nullptr && !has_first) {
        problems.required(field, request,
                          "exactly one of `exactly` or `firstAvailable` is required");
    } else if (exactly != nullptr && has_first) {
        problems.list.push_back({Problem::Kind::kInvalid, field, "null",
                                 "exactly one of `exactly` or `firstAvailable` is required, but "
                                 "multiple fields are set",
                                 request.mark});
    } else if (exactly != nullptr) {
        check_subrequest(problems, field + ".exactly", *exactly);
    } else {
        check_list(problems, field + ".firstAvailable", first, kMostAlternatives, "name",
                   [&](const Value& one, const std::string& path) {
                       problems.need_name(path, one, "name", k8s::check_dns_label);
                       check_subrequest(problems, path, one);
                   });
    }
}

void check_constraint(Problems& problems, const std::string& field, const Value& constraint,
                      const RequestNames& names) {
    check_references(problems, field, constraint, names);
    const Value* const match = constraint.find("matchAttribute");
    const Value* const distinct = constraint.find("distinctAttribute");
    if (match == nullptr && distinct == nullptr) {
        problems.required(field, constraint,
                          "exactly one of `matchAttribute` or `distinctAttribute` is required");
        return;
    }
    if (match != nullptr) check_qualified(problems, field + ".matchAttribute", *match, true);
    if (distinct != nullptr)
        check_qualified(problems, field + ".distinctAttribute", *distinct, true);
    if (match != nullptr && distinct != nullptr) {
        problems.list.push_back(
            {Problem::Kind::kInvalid, field, "null",
             "exactly one of `matchAttribute` or `distinctAttribute` is required",
             constraint.mark});
    }
}

bool is_lower_uuid(std::string_view text) {
    constexpr std::size_t kLength = 36;
    if (text.size() != kLength) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        const bool hex = is_digit(text[i]) || (text[i] >= 'a' && text[i] <= 'f');
        if (dash ? text[i] != '-' : !hex) return false;
    }
    return true;
}

void check_result(Problems& problems, const std::string& path, const Value& result,
                  const RequestNames& names) {
    const Value* const request = result.find("request");
    if (request == nullptr || !names.contains(request->scalar)) {
        problems.invalid(path + ".request", request == nullptr ? result : *request,
                         "must be the name of a request in the claim or the name of a request and "
                         "a subrequest separated by '/'");
    }
    check_driver(problems, path, result);
    problems.need_name(path, result, "pool", [](std::string_view) { return std::string(); });
    problems.need_name(path, result, "device", k8s::check_dns_label);
    const Value* const share = result.find("shareID");
    if (share != nullptr && !is_lower_uuid(share->scalar)) {
        problems.invalid(path + ".shareID", *share,
                         "uid must be in RFC 4122 normalized form, "
                         "`xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal "
                         "characters");
    }
}

}  // namespace

std::vector<Problem> class_problems(const Value& spec) {
    Problems problems;
    check_selectors(problems, "spec", spec);
    check_list(
        problems, "spec.config", spec.find("config"), kMostRequests, "",
        [&](const Value& one, const std::string& path) { check_opaque(problems, path, one); });
    const Value* const resource = spec.find("extendedResourceName");
    if (resource != nullptr) {
        if (!k8s::is_extended_resource(resource->scalar)) {
            problems.invalid("spec.extendedResourceName", *resource,
                             "must be a valid extended resource name");
        }
    }
    return std::move(problems.list);
}

std::vector<Problem> claim_problems(const Value& spec, std::string_view path) {
    Problems problems;
    const Value* const devices = spec.find("devices");
    if (devices == nullptr) return {};
    const std::string field = std::string(path) + ".devices";
    const RequestNames names = names_of(spec);
    check_list(problems, field + ".requests", devices->find("requests"), kMostRequests, "name",
               [&](const Value& one, const std::string& at) { check_request(problems, at, one); });
    check_list(problems, field + ".constraints", devices->find("constraints"), kMostRequests, "",
               [&](const Value& one, const std::string& at) {
                   check_constraint(problems, at, one, names);
               });
    check_list(problems, field + ".config", devices->find("config"), kMostRequests, "",
               [&](const Value& one, const std::string& at) {
                   check_references(problems, at, one, names);
                   check_opaque(problems, at, one);
               });
    return std::move(problems.list);
}

std::vector<Problem> status_problems(const Value& status, const Value& spec) {
    Problems problems;
    const RequestNames names = names_of(spec);
    const Value* const allocation = status.find("allocation");
    const bool allocated = allocation != nullptr && allocation->is_mapping();
    if (allocated) {
        check_list(problems, "status.allocation.devices.results",
                   document::at_path(*allocation, "devices.results"), kMostRequests, "",
                   [&](const Value& one, const std::string& at) {
                       check_result(problems, at, one, names);
                   });
    }
    const Value* const reserved = status.find("reservedFor");
    check_list(problems, "status.reservedFor", reserved, kMostReserved, "uid",
               [&](const Value& one, const std::string& at) {
                   const auto any = [](std::string_view) { return std::string(); };
                   problems.need_name(at, one, "resource", any);
                   problems.need_name(at, one, "name", any);
                   problems.need_name(at, one, "uid", any);
               });
    if (reserved != nullptr && !reserved->items.empty() && !allocated) {
        problems.forbidden("status.reservedFor", *reserved,
                           "may not be specified when `allocated` is not set");
    }
    return std::move(problems.list);
}

}  // namespace aliquot::claims
