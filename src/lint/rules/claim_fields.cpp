// SPDX-License-Identifier: Apache-2.0
// Fields of claims, classes and slices: DRA007 and DRA008.
#include <algorithm>
#include <array>

#include "claims/validation.h"
#include "k8s/quantity.h"
#include "lint/families.h"
#include "lint/kept.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using claims::Problem;

/// What other rules say, with more words.
bool is_said_elsewhere(const Problem& problem) {
    constexpr std::array<std::string_view, 5> kFields{".deviceClassName", ".cel.expression",
                                                      ".matchAttribute", ".requests[", ".cel"};
    constexpr std::array<std::string_view, 2> kMessages{"exactly one of `exactly`",
                                                        "must be the name of a request"};
    for (const std::string_view field : kFields) {
        if (problem.field.ends_with(field)) return true;
    }
    for (const std::string_view message : kMessages) {
        if (problem.message.starts_with(message)) return true;
    }
    return false;
}

std::vector<Problem> problems_of(const Object& object) {
    const Value* const spec = object.node->find("spec");
    if (spec == nullptr || !spec->is_mapping()) return {};
    if (object.kind == "ResourceSlice") return claims::slice_problems(*spec);
    if (object.kind == "DeviceClass") return claims::class_problems(*spec);
    if (object.kind == "ResourceClaim") return claims::claim_problems(*spec);
    const Value* const inner = spec->find("spec");
    if (object.kind != "ResourceClaimTemplate" || inner == nullptr) return {};
    return claims::claim_problems(*inner, "spec.spec");
}

void report_problem(const Problem& problem, Report& report) {
    std::string message = problem.field + ": ";
    switch (problem.kind) {
        case Problem::Kind::kRequired:
            message += problem.message.empty() ? "must be set" : problem.message;
            break;
        case Problem::Kind::kDuplicate:
            message += problem.value + " stands twice";
            break;
        case Problem::Kind::kUnsupported:
            report.add("DRA007", problem.mark, message + "no such value: " + problem.value)
                .expected(problem.message);
            return;
        default:
            message += problem.message;
            if (!problem.value.empty() && problem.value != "null") {
                message += ", found " + problem.value;
            }
    }
    report.add("DRA007", problem.mark, std::move(message));
}

/// Amounts of a share of Aliquot's driver.
void check_amounts(const Value& subrequest, Report& report) {
    const std::string device_class = document::text_at(subrequest, "deviceClassName");
    const bool ours = device_class == "gpu.aliquot.dev";
    for (const Value::Entry& entry : document::entries_at(subrequest, {"capacity", "requests"})) {
        std::string name = entry.first.scalar;
        const std::string& text = entry.second.scalar;
        if (is_placeholder(text) || is_placeholder(name)) continue;
        constexpr std::string_view kDomain = "gpu.aliquot.dev/";
        if (name.starts_with(kDomain)) name = name.substr(kDomain.size());
        const auto amount = k8s::Quantity::parse_field(text);
        if (ours && name != "memory" && name != "compute") {
            const std::string meant(nearest(name, {"memory", "compute"}));
            report
                .add("DRA008", entry.first.mark,
                     "the devices of gpu.aliquot.dev have no capacity '" + name + "'")
                .expected(meant.empty() ? "memory or compute" : meant);
        } else if (ours && name == "compute" && amount &&
                   (amount->nanos() % 1'000'000'000 != 0 || amount->value() > 100)) {
            report.add("DRA008", entry.second.mark, "compute is in percent of the GPU: " + text)
                .expected("a whole number up to 100");
        } else if (ours && name == "memory" && amount && amount->value() < 1 << 20) {
            report.add("DRA008", entry.second.mark, "memory is in bytes: " + text)
                .expected("an amount with a unit, as " + text + "Gi");
        }
    }
}

void check_requests_of(const Object& object, Report& report) {
    const bool of_template = object.kind == "ResourceClaimTemplate";
    if (!of_template && object.kind != "ResourceClaim") return;
    const Value* const requests =
        at_path(*object.node, of_template ? "spec.spec.devices.requests" : "spec.devices.requests");
    if (requests == nullptr) return;
    for (const Value& request : requests->items) {
        if (const Value* const exactly = request.find("exactly")) check_amounts(*exactly, report);
        for (const Value& subrequest : document::items_at(request, {"firstAvailable"})) {
            check_amounts(subrequest, report);
        }
    }
}

}  // namespace

void check_claim_fields(const File& file, const Set&, const Facts*, Report& report) {
    if (!file.mentions("resource.k8s.io") || is_kept(file) || is_record(file)) return;
    for (const Object& object : file.objects) {
        if (object.group() != "resource.k8s.io" || object.broken || object.templated) continue;
        if (object.role != Role::kObject || file.mentions("{{")) continue;
        if (object.api_version == "resource.k8s.io/v1" ||
            object.api_version == "resource.k8s.io/v1beta2") {
            for (const Problem& problem : problems_of(object)) {
                if (!is_said_elsewhere(problem)) report_problem(problem, report);
            }
        }
        check_requests_of(object, report);
    }
}

}  // namespace aliquot::lint
