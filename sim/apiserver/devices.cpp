// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/devices.h"

#include "base/time_text.h"
#include "claims/validation.h"
#include "document/json.h"
#include "document/path.h"
#include "sim/apiserver/access.h"

namespace aliquot::sim::apiserver {

namespace {

using claims::Problem;

bool is_claim(const Call& call) {
    return call.resource->storage == "resource.k8s.io/resourceclaims";
}

void subrequest_defaults(Value& subrequest) {
    if (subrequest.at("allocationMode").text().empty()) subrequest["allocationMode"] = "ExactCount";
    if (subrequest.at("allocationMode").text() == "ExactCount" &&
        subrequest.at("count").integer() == 0) {
        subrequest["count"] = 1;
    }
    Value* const tolerations = subrequest.find("tolerations");
    if (tolerations == nullptr) return;
    for (Value& one : tolerations->items()) {
        if (one.at("operator").text().empty()) one["operator"] = "Equal";
    }
}

void spec_defaults(Value& spec) {
    Value* const requests = spec.find_path("devices.requests");
    if (requests == nullptr) return;
    for (Value& request : requests->items()) {
        if (Value* const exactly = request.find("exactly")) subrequest_defaults(*exactly);
        if (Value* const list = request.find("firstAvailable")) {
            for (Value& subrequest : list->items()) subrequest_defaults(subrequest);
        }
    }
}

Cause cause_of(const Problem& problem) {
    const std::string shown = problem.value.empty() ? "null" : problem.value;
    switch (problem.kind) {
        case Problem::Kind::kRequired:
            return required(problem.field, problem.message);
        case Problem::Kind::kForbidden:
            return forbidden_field(problem.field, problem.message);
        case Problem::Kind::kTooMany:
            return {"FieldValueTooMany", "Too many: " + shown + ": " + problem.message,
                    problem.field};
        case Problem::Kind::kDuplicate:
            return {"FieldValueDuplicate", "Duplicate value: " + shown, problem.field};
        case Problem::Kind::kUnsupported:
            return {"FieldValueNotSupported",
                    "Unsupported value: " + shown + ": supported values: " + problem.message,
                    problem.field};
        case Problem::Kind::kInvalid:
            break;
    }
    return {"FieldValueInvalid", "Invalid value: " + shown + ": " + problem.message, problem.field};
}

document::Value document_of(const Value& value) {
    auto read = document::parse_json(to_json(value));
    return read ? *std::move(read) : document::Value{};
}

void add_problems(std::vector<Cause>& causes, const std::vector<Problem>& problems) {
    for (const Problem& problem : problems) causes.push_back(cause_of(problem));
}

void keep(std::vector<Cause>& causes, const Value& object, const Value& old,
          const std::string& path) {
    if (old.is_null() || object.at_path(path) == old.at_path(path)) return;
    causes.push_back(invalid_value(path, object.at_path(path), "field is immutable"));
}

void validate_status(std::vector<Cause>& causes, const Value& object, const Value& old) {
    const Value& now = object.at_path("status.allocation");
    const Value& before = old.at_path("status.allocation");
    if (!now.is_null() && !before.is_null()) keep(causes, object, old, "status.allocation");
    if (now.is_null() && !before.is_null() && !object.at_path("status.reservedFor").empty()) {
        causes.push_back(forbidden_field("status.reservedFor",
                                         "may not be specified when `allocated` is not set"));
    }
    add_problems(causes, claims::status_problems(document_of(object.at("status")),
                                                 document_of(object.at("spec"))));
}

/// A field below a list of things, gone unless the object had one of its kind before.
void drop(Value& thing, const std::vector<std::string_view>& fields) {
    for (const std::string_view field : fields) thing.erase(field);
}

bool mentions(const Value& value, std::string_view field) {
    for (const Member& member : value.members()) {
        if (member.name == field || mentions(member.value, field)) return true;
    }
    for (const Value& item : value.items()) {
        if (mentions(item, field)) return true;
    }
    return false;
}

/// Which fields of resource.k8s.io a gate has brought, below devices and requests.
struct GatedFields {
    std::string_view gate;
    std::string_view mark;  // an object that had this before keeps all of them
    std::vector<std::string_view> spec;
    std::vector<std::string_view> device;
    std::vector<std::string_view> subrequest;
};

const std::vector<GatedFields>& gated_fields() {
    static const std::vector<GatedFields> kFields = {
        {"DRAConsumableCapacity",
         "allowMultipleAllocations",
         {},
         {"allowMultipleAllocations"},
         {"capacity"}},
        {"DRADeviceTaints", "taints", {}, {"taints"}, {"tolerations"}},
        {"DRAPartitionableDevices",
         "consumesCounters",
         {"sharedCounters", "perDeviceNodeSelection"},
         {"consumesCounters", "nodeName", "nodeSelector", "allNodes"},
         {}},
        {"DRADeviceBindingConditions",
         "bindingConditions",
         {},
         {"bindingConditions", "bindingFailureConditions", "bindsToNode"},
         {}},
        {"DRAExtendedResource", "extendedResourceName", {"extendedResourceName"}, {}, {}}};
    return kFields;
}

void drop_fields(const GatedFields& gated, Value& spec) {
    drop(spec, gated.spec);
    Value* const devices = spec.find("devices");
    if (devices == nullptr) return;
    if (devices->is_array()) {
        for (Value& device : devices->items()) {
            drop(device, gated.device);
            Value* const capacity = device.find("capacity");
            if (gated.gate != "DRAConsumableCapacity" || capacity == nullptr) continue;
            for (Member& one : capacity->members()) one.value.erase("requestPolicy");
        }
        return;
    }
    Value* const requests = devices->find("requests");
    if (requests == nullptr) return;
    for (Value& request : requests->items()) {
        if (Value* const exactly = request.find("exactly")) drop(*exactly, gated.subrequest);
        if (Value* const list = request.find("firstAvailable")) {
            for (Value& subrequest : list->items()) drop(subrequest, gated.subrequest);
        }
    }
}

bool has_admin_access(const Value& spec) {
    for (const Value& request : spec.at_path("devices.requests").items()) {
        if (request.at_path("exactly.adminAccess").boolean()) return true;
    }
    return false;
}

Outcome<Done> admit_admin_access(const Call& call, const Value& spec) {
    if (!has_admin_access(spec)) return Done{};
    const EntryPtr found = call.context.store.get("/namespaces", call.name_space);
    const Value& labels = found == nullptr ? Value() : found->object.at_path("metadata.labels");
    if (labels.at("resource.kubernetes.io/admin-access").text() == "true") return Done{};
    return invalid(call.resource->kind, call.resource->group, call.name,
                   {forbidden_field("spec.devices.requests[0].exactly.adminAccess",
                                    "admin access to devices requires the "
                                    "`resource.kubernetes.io/admin-access: true` label on the "
                                    "containing namespace")});
}

}  // namespace

void claim_defaults(Value& object) { spec_defaults(object["spec"]); }
void claim_template_defaults(Value& object) { spec_defaults(object["spec"]["spec"]); }

void slice_defaults(Value& object) {
    Value* const devices = object.find_path("spec.devices");
    if (devices == nullptr) return;
    for (Value& device : devices->items()) {
        Value* const taints = device.find("taints");
        if (taints == nullptr) continue;
        for (Value& taint : taints->items()) {
            if (taint.at("timeAdded").is_null())
                taint["timeAdded"] = rfc3339(std::chrono::system_clock::now());
        }
    }
}

void drop_gated_fields(const Call& call, Value& object, const Value& old) {
    if (call.resource->group != "resource.k8s.io") return;
    for (const GatedFields& gated : gated_fields()) {
        const auto& off = call.context.options.disabled_features;
        if (!off.contains(std::string(gated.gate)) || mentions(old.at("spec"), gated.mark))
            continue;
        Value& spec = object["spec"];
        drop_fields(gated, spec.find("spec") != nullptr ? spec["spec"] : spec);
    }
}

void validate_devices(std::vector<Cause>& causes, const Call& call, const Value& object,
                      const Value& old) {
    const std::string& name = call.resource->name;
    const bool of_status = call.subresource != nullptr && call.subresource->name == "status";
    if (of_status) {
        if (is_claim(call)) validate_status(causes, object, old);
        return;
    }
    if (name == "resourceclaims" || name == "resourceclaimtemplates") {
        if (!old.is_null()) return keep(causes, object, old, "spec");
        const bool of_template = name == "resourceclaimtemplates";
        const document::Value spec =
            document_of(object.at_path(of_template ? "spec.spec" : "spec"));
        add_problems(causes, claims::claim_problems(spec, of_template ? "spec.spec" : "spec"));
    } else if (name == "deviceclasses") {
        add_problems(causes, claims::class_problems(document_of(object.at("spec"))));
    } else if (name == "resourceslices") {
        for (const char* path : {"spec.pool.name", "spec.driver", "spec.nodeName"}) {
            keep(causes, object, old, path);
        }
        if (!old.is_null() && object.at("spec") == old.at("spec")) return;
        add_problems(causes, claims::slice_problems(document_of(object.at("spec"))));
    }
}

Outcome<Done> admit_devices(const Call& call, const Value& object, const Value& old) {
    if (call.resource->name == "resourceclaims" && old.is_null()) {
        return admit_admin_access(call, object.at("spec"));
    }
    if (call.resource->name == "resourceclaimtemplates" && old.is_null()) {
        return admit_admin_access(call, object.at_path("spec.spec"));
    }
    const bool of_status = call.subresource != nullptr && call.subresource->name == "status";
    if (!is_claim(call) || !of_status) return Done{};
    const auto needs = [&](std::string_view subresource, std::string_view fields) -> Outcome<Done> {
        for (const std::string_view scope : {"", "associated-node:", "arbitrary-node:"}) {
            if (!scope.empty() && subresource != "driver") break;
            Attributes wanted{.user = call.user, .verb = std::string(scope) + call.verb};
            wanted.group = "resource.k8s.io";
            wanted.version = "v1";
            wanted.resource = "resourceclaims";
            wanted.subresource = subresource;
            wanted.name = call.name;
            wanted.name_space = call.name_space;
            if (!authorize(call.context, wanted)) return Done{};
        }
        return forbidden("resourceclaims", "resource.k8s.io", call.name,
                         "changing " + std::string(fields) +
                             " requires resource=\"resourceclaims/" + std::string(subresource) +
                             "\", verb=\"" + call.verb + "\" permission");
    };
    if (object.at_path("status.allocation") != old.at_path("status.allocation") ||
        object.at_path("status.reservedFor") != old.at_path("status.reservedFor")) {
        auto allowed = needs("binding", "status.allocation or status.reservedFor");
        if (!allowed) return allowed;
    }
    if (object.at_path("status.devices") == old.at_path("status.devices")) return Done{};
    return needs("driver", "status.devices");
}

}  // namespace aliquot::sim::apiserver
