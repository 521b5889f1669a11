// SPDX-License-Identifier: Apache-2.0
// Dynamic resource allocation: DRA001 to DRA006.
#include <algorithm>
#include <array>

#include "lint/families.h"
#include "lint/rules/evidence.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

/// Where the requests of a claim or template stand; nullptr: neither.
const Value* claim_spec(const Object& object) {
    if (object.kind == "ResourceClaim") return object.node->find("spec");
    if (object.kind == "ResourceClaimTemplate") return at_path(*object.node, "spec.spec");
    return nullptr;
}

/// The nodes with deviceClassName of one request, in either shape.
std::vector<const Value*> classes_of(const Value& request) {
    std::vector<const Value*> classes;
    if (const Value* direct = request.find("deviceClassName")) classes.push_back(direct);
    if (const Value* exact = at_path(request, "exactly.deviceClassName")) classes.push_back(exact);
    if (const Value* first = request.find("firstAvailable")) {
        for (const Value& one : first->items) {
            if (const Value* name = one.find("deviceClassName")) classes.push_back(name);
        }
    }
    return classes;
}

void check_class(const File& file, const Set& set, const Value& name, const Facts* facts,
                 Report& report) {
    const std::string& text = name.scalar;
    if (text.empty() || is_placeholder(text)) return;
    if (set.find_object(file, "DeviceClass", text)) return;
    if (facts != nullptr && !facts->device_classes.empty()) {
        if (facts->device_classes.count(text) != 0) return;
        report.add("DRA001", name.mark, "the cluster has no DeviceClass '" + text + "'");
        return;
    }
    static constexpr std::array<std::string_view, 11> kKnown{
        "gpu.aliquot.dev",
        "mig.aliquot.dev",
        "imex.nvidia.com",
        "gpu.nvidia.com",
        "mig.nvidia.com",
        "vfio.gpu.nvidia.com",
        "compute-domain-default-channel.nvidia.com",
        "compute-domain-daemon.nvidia.com",
        "gpu.example.com",
        "gpu.intel.com",
        "gpu.amd.com"};
    if (std::find(kKnown.begin(), kKnown.end(), text) != kKnown.end()) return;
    if (text == "aliquot.dev/gpu" || text == "aliquot.dev" ||
        !nearest(text, {"gpu.aliquot.dev", "mig.aliquot.dev"}).empty()) {
        report.add("DRA001", name.mark, "'" + text + "' is no DeviceClass of Aliquot's driver")
            .expected("gpu.aliquot.dev or mig.aliquot.dev");
        return;
    }
    const bool resource = text == "nvidia.com/gpu" || text.starts_with("nvidia.com/") ||
                          text == "gpu.nvidia" || text == "nvidia.com" || text == "nvidia.com.gpu";
    if (!resource && nearest(text, {"gpu.nvidia.com", "mig.nvidia.com"}).empty()) return;
    report.add("DRA001", name.mark, "'" + text + "' is no DeviceClass of NVIDIA's driver")
        .expected("gpu.nvidia.com or mig.nvidia.com")
        .fix("deviceClassName: " +
             std::string(contains(text, "mig") ? "mig.nvidia.com" : "gpu.nvidia.com"));
}

/// v1beta1 writes deviceClassName into the request, v1beta2 and v1 below `exactly`.
void check_shape(const Object& object, const Value& request, Report& report) {
    const std::string version = object.api_version.substr(object.api_version.find('/') + 1);
    const Value::Entry* direct = entry_at(request, "deviceClassName");
    const Value::Entry* exact = entry_at(request, "exactly");
    if ((version == "v1" || version == "v1beta2") && direct != nullptr) {
        report
            .add("DRA005", direct->first.mark,
                 "a request of " + object.api_version + " has no deviceClassName of its own")
            .expected("exactly: or firstAvailable:")
            .fix("exactly:\n  deviceClassName: " + direct->second.scalar);
    } else if (version == "v1beta1" && exact != nullptr) {
        report.add("DRA005", exact->first.mark, "resource.k8s.io/v1beta1 knows no 'exactly'")
            .expected("deviceClassName beside name, or apiVersion: resource.k8s.io/v1")
            .fix("deviceClassName: " + text_at(exact->second, "deviceClassName"));
    }
}

/// The API server takes no request without a class. What a template fills in is unknown here.
void check_class_is_told(const File& file, const Object& object, const Value& request,
                         Report& report) {
    const std::string version = object.api_version.substr(object.api_version.find('/') + 1);
    if (version != "v1" && version != "v1beta2") return;
    const Value::Entry* exact = entry_at(request, "exactly");
    if (exact == nullptr || exact->second.entries.empty() || file.mentions("{{")) return;
    if (exact->second.find("deviceClassName") != nullptr || exact->second.find("<<") != nullptr) {
        return;
    }
    report
        .add("DRA005", exact->first.mark,
             "the request '" + text_at(request, "name") + "' names no deviceClassName")
        .expected("exactly.deviceClassName, which " + object.api_version + " requires");
}

/// What v1alpha2 had and no later version has; and a level of `spec` too many or too few.
void check_levels(const Object& object, Report& report) {
    const std::string version = object.api_version.substr(object.api_version.find('/') + 1);
    if (version == "v1alpha1" || version == "v1alpha2") return;  // API001
    const bool of_template = object.kind == "ResourceClaimTemplate";
    if (!of_template && object.kind != "ResourceClaim") return;
    for (const std::string_view path : {"spec.resourceClassName", "spec.spec.resourceClassName"}) {
        const Value::Entry* name = entry_at(*object.node, path);
        if (name == nullptr) continue;
        report
            .add("DRA005", name->first.mark,
                 object.api_version + " knows no 'resourceClassName': it went with v1alpha2")
            .expected("devices.requests[].exactly.deviceClassName");
        return;
    }
    const Value::Entry* flat = entry_at(*object.node, "spec.devices");
    const Value::Entry* deep = entry_at(*object.node, "spec.spec.devices");
    if (of_template && flat != nullptr && deep == nullptr) {
        report
            .add("DRA005", flat->first.mark,
                 "the spec of a ResourceClaimTemplate has the claim's spec in it")
            .expected("spec.spec.devices");
    } else if (!of_template && deep != nullptr) {
        report.add("DRA005", deep->first.mark, "the spec of a ResourceClaim has no spec in it")
            .expected("spec.devices");
    }
}

void check_claim(const File& file, const Set& set, const Object& object, const Facts* facts,
                 Report& report) {
    // A chart may write one form for each version of the server.
    const bool chooses = file.mentions(".capabilities");
    if (!chooses) check_levels(object, report);
    const Value* spec = claim_spec(object);
    const Value* requests = spec == nullptr ? nullptr : at_path(*spec, "devices.requests");
    if (requests == nullptr) return;
    for (const Value& request : requests->items) {
        if (!chooses) check_shape(object, request, report);
        if (!chooses) check_class_is_told(file, object, request, report);
        for (const Value* name : classes_of(request)) check_class(file, set, *name, facts, report);
    }
}

/// Whether a claim of the pod surely gives a whole GPU or a MIG device.
bool claims_gpu(const File& file, const Set& set, const Value& claim) {
    std::string name = text_at(claim, "resourceClaimTemplateName");
    std::string_view kind = "ResourceClaimTemplate";
    if (name.empty()) {
        name = text_at(claim, "resourceClaimName");
        kind = "ResourceClaim";
    }
    const auto found = set.find_object(file, kind, name);
    if (!found) return false;
    const Value* spec = claim_spec(*found.object);
    const Value* requests = spec == nullptr ? nullptr : at_path(*spec, "devices.requests");
    if (requests == nullptr) return false;
    for (const Value& request : requests->items) {
        for (const Value* one : classes_of(request)) {
            if (one->scalar == "gpu.nvidia.com" || one->scalar == "mig.nvidia.com") return true;
        }
    }
    return false;
}

void check_reference(const File& file, const Value& claim, Report& report) {
    if (const Value::Entry* source = entry_at(claim, "source")) {
        report
            .add("DRA005", source->first.mark,
                 "resourceClaims[].source is gone since Kubernetes 1.31")
            .expected("resourceClaimName or resourceClaimTemplateName beside name");
        return;
    }
    const Value* name = claim.find("resourceClaimTemplateName");
    if (name == nullptr || is_placeholder(name->scalar)) return;
    std::vector<std::string_view> known;
    for (const Object& object : file.objects) {
        if (object.kind == "ResourceClaimTemplate") known.push_back(object.name);
        if (object.kind == "ComputeDomain") return;  // makes a template of a name of its own
    }
    if (known.empty() || std::find(known.begin(), known.end(), name->scalar) != known.end()) return;
    const std::string_view meant = nearest(name->scalar, known);
    if (meant.empty()) return;
    report
        .add("DRA006", name->mark, "there is no ResourceClaimTemplate '" + name->scalar + "' here")
        .expected(std::string(meant))
        .fix("resourceClaimTemplateName: " + std::string(meant));
}

/// What a container writes of a claim is its name, and which of its requests it means.
void check_claim_keys(const ResourceValue& claim, Report& report) {
    if (claim.key == nullptr) return;
    for (const std::string_view key :
         {"deviceClassName", "resourceClaimName", "resourceClaimTemplateName"}) {
        const Value::Entry* entry = entry_at(*claim.key, key);
        if (entry == nullptr) continue;
        report
            .add("DRA005", entry->first.mark,
                 "a claim of a container has no '" + std::string(key) + "', only a name")
            .expected("a claim of spec.resourceClaims");
    }
}

/// `#   - name: NAME` in the same block: the use was taken out to show what is then.
bool is_commented_out(const File& file, const PodSpec& pod, const std::string& name) {
    const Object* object = file.object(pod);
    return object != nullptr &&
           std::any_of(file.statements.begin(), file.statements.end(), [&](const Statement& one) {
               return one.kind == Statement::Kind::kComment && one.block == object->block &&
                      contains(one.text, "name: " + name);
           });
}

void check_pod(const File& file, const Set& set, const PodSpec& pod, Report& report) {
    if (pod.node == nullptr) return;
    const Value* list = pod.node->find("resourceClaims");
    for (const Container& container : pod.containers) {
        for (const ResourceValue& claim : container.claims) check_claim_keys(claim, report);
    }
    if (!pod.whole && list == nullptr) return;
    std::vector<std::string> declared;
    std::vector<std::string> used;
    if (list != nullptr) {
        for (const Value& claim : list->items) declared.push_back(text_at(claim, "name"));
    }
    for (const Container& container : pod.containers) {
        for (const ResourceValue& claim : container.claims) {
            used.push_back(claim.name);
            if (is_placeholder(claim.name)) continue;
            if (std::find(declared.begin(), declared.end(), claim.name) != declared.end()) continue;
            report
                .add("DRA002", claim.key->mark,
                     "container " + container.name + " uses the claim '" + claim.name +
                         "', which the pod does not have")
                .expected("one of spec.resourceClaims[].name");
        }
    }
    if (list == nullptr || !pod.whole) return;
    const GpuNeed need = gpu_need(pod);
    for (const Value& claim : list->items) {
        check_reference(file, claim, report);
        const std::string name = text_at(claim, "name");
        if (std::find(used.begin(), used.end(), name) == used.end() && !is_placeholder(name) &&
            !is_commented_out(file, pod, name)) {
            report.add(
                "DRA003", claim.mark,
                "no container uses the claim '" + name + "': its device is held for nothing");
        }
        if (need.value != nullptr && need.value->name == "nvidia.com/gpu" &&
            claims_gpu(file, set, claim)) {
            report.add("DRA004", need.value->key->mark,
                       "the pod asks for nvidia.com/gpu and claims a GPU as '" + name + "' too");
        }
    }
}

}  // namespace

void check_claims(const File& file, const Set& set, const Facts* facts, Report& report) {
    if (!file.mentions("claims") && !file.mentions("resourceclaim")) return;
    for (const Object& object : file.objects) {
        if (object.group() != "resource.k8s.io" || object.broken) continue;
        check_claim(file, set, object, facts, report);
    }
    for (const PodSpec& pod : file.pods) check_pod(file, set, pod, report);
}

}  // namespace aliquot::lint
