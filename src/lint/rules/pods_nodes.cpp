// SPDX-License-Identifier: Apache-2.0
// Pods held against the machines they are meant for: POD003, POD011, POD012, POD018, POD022.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>

#include "catalog/drivers.h"
#include "catalog/gpu_instances.h"
#include "k8s/quantity.h"
#include "lint/rules/evidence.h"
#include "lint/rules/pod_rules.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using catalog::GpuInstance;
using findings::Severity;

constexpr double kMebibyte = 1024.0 * 1024.0;

/// What pods get. Where the table does not know: what EKS and GKE keep for the kubelet, 6 % of the
/// first core, 1 % of the second, 0.5 % of the next two and 0.25 % of the rest.
double cores_of(const GpuInstance& machine) {
    if (machine.allocatable_cpu_milli > 0) return machine.allocatable_cpu_milli / 1000.0;
    constexpr double kOfFirstFour = 0.08;
    constexpr double kOfOthers = 0.0025;
    const double cores = machine.vcpu;
    return cores <= 4 ? cores - kOfFirstFour : cores - kOfFirstFour - (cores - 4) * kOfOthers;
}

double memory_of(const GpuInstance& machine) {
    return machine.allocatable_memory_mib > 0
               ? static_cast<double>(machine.allocatable_memory_mib) * kMebibyte
               : machine.memory_gib * 1024 * kMebibyte;
}

/// What one pod (or one block of resources) takes of a machine.
struct Need {
    double cpu = 0;
    double memory = 0;
    double gpus = 0;
    Mark mark;
};

std::string gib_text(double bytes) {
    const double gib = bytes / kMebibyte / 1024;
    return number_text(std::round(gib * 10) / 10) + " GiB";
}

/// Why it does not fit; empty when it does.
std::string misfit(const Need& need, const GpuInstance& machine) {
    if (need.cpu > cores_of(machine) + 1e-9) {
        return number_text(need.cpu) + " CPU are requested, and pods get " +
               number_text(cores_of(machine)) + " of the " + std::to_string(machine.vcpu);
    }
    if (need.memory > memory_of(machine) + 1) {
        return gib_text(need.memory) + " of memory are requested, and pods get " +
               gib_text(memory_of(machine)) + " of the " + number_text(machine.memory_gib) + " GiB";
    }
    if (machine.gpu_count > 0 && need.gpus > machine.gpu_count) {
        return number_text(need.gpus) + " GPUs are requested, and it has " +
               std::to_string(machine.gpu_count);
    }
    return {};
}

void report_misfit(const Need& need, const std::vector<const GpuInstance*>& machines,
                   std::string_view from, Report& report) {
    if (machines.empty()) return;
    for (const GpuInstance* machine : machines) {
        if (misfit(need, *machine).empty()) return;
    }
    const GpuInstance& machine = *machines.front();
    report.add("POD011", need.mark,
               "the pod never fits on " + std::string(machine.type) + std::string(from) + ": " +
                   misfit(need, machine));
}

bool is_type_label(std::string_view key) {
    return key == "node.kubernetes.io/instance-type" || key == "beta.kubernetes.io/instance-type";
}

std::vector<const GpuInstance*> machines_of(const PodSpec& pod) {
    std::vector<const GpuInstance*> machines;
    const auto keep = [&machines](std::string_view type) {
        if (const GpuInstance* machine = catalog::find_gpu_instance(type))
            machines.push_back(machine);
    };
    if (pod.node_selector != nullptr) {
        for (const Value::Entry& entry : pod.node_selector->entries) {
            if (is_type_label(entry.first.scalar)) keep(entry.second.scalar);
        }
    }
    if (pod.affinity == nullptr || !machines.empty()) return machines;
    const Value* required =
        at_path(*pod.affinity, "nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution");
    if (required == nullptr) return machines;
    walk(*required, [&](const Value::Entry& entry) {
        if (entry.first.scalar != "matchExpressions") return;
        for (const Value& term : entry.second.items) {
            const Value* values = term.find("values");
            if (!is_type_label(text_at(term, "key")) || values == nullptr) continue;
            if (text_at(term, "operator") != "In") continue;
            for (const Value& value : values->items) keep(value.scalar);
        }
    });
    return machines;
}

Mark selector_mark(const PodSpec& pod) {
    if (pod.node_selector != nullptr) {
        for (const Value::Entry& entry : pod.node_selector->entries) {
            if (is_type_label(entry.first.scalar)) return entry.first.mark;
        }
    }
    return pod.affinity != nullptr ? pod.affinity->mark : Mark{};
}

Need need_of(const PodSpec& pod) {
    Need need;
    need.cpu = pod_amount(pod, "cpu");
    need.memory = pod_amount(pod, "memory");
    const GpuNeed gpu = gpu_need(pod);
    need.gpus = gpu.value != nullptr && gpu.value->name == "nvidia.com/gpu" ? gpu.amount : 0;
    for (const Container& container : pod.containers) {
        const ResourceValue* cpu = container.find_request("cpu");
        if (cpu == nullptr) cpu = container.find("cpu");
        if (need.mark.line == 0 && cpu != nullptr) need.mark = cpu->key->mark;
    }
    if (need.mark.line == 0 && gpu.value != nullptr) need.mark = gpu.value->key->mark;
    return need;
}

void check_pinned(const File& file, const PodSpec& pod, Report& report) {
    const auto machines = machines_of(pod);
    if (machines.empty()) return;
    const Need need = need_of(pod);
    report_misfit(need, machines, "", report);
    constexpr unsigned kLarge = 8;
    const GpuInstance& machine = *machines.front();
    if (machines.size() != 1 || machine.gpu_count < kLarge) return;
    const GpuNeed gpu = gpu_need(pod);
    const bool fragment = !pod.whole && gpu.value == nullptr;
    if (gpu.value != nullptr && gpu.value->name != "nvidia.com/gpu") return;
    if (!fragment && (gpu.value == nullptr || gpu.amount != 1)) return;
    if (pod.replicas.value_or(1) > 1) return;
    auto entry = report.add(
        "POD012", selector_mark(pod),
        (fragment ? std::string("pods are pinned") : "one GPU is asked for and the pod pinned") +
            " to " + std::string(machine.type) + ", which has " +
            std::to_string(machine.gpu_count) + " GPUs");
    if (fragment || file.object(pod) == nullptr) entry.severity(Severity::kInfo);
}

/// The machine that the text calls the default: "**Instance types:** g4dn.xlarge (default)".
const GpuInstance* default_machine(const File& file) {
    const GpuInstance* found = nullptr;
    for (const Statement& statement : file.statements) {
        if (!contains_word(statement.text, "default")) continue;
        std::size_t begin = 0;
        const std::string& text = statement.text;
        for (std::size_t i = 0; i <= text.size(); ++i) {
            const bool inside =
                i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 ||
                                    text[i] == '.' || text[i] == '-' || text[i] == '_');
            if (inside) continue;
            if (i > begin) {
                const auto* machine =
                    catalog::find_gpu_instance(std::string_view(text).substr(begin, i - begin));
                if (machine != nullptr && found != nullptr && machine != found) return nullptr;
                if (machine != nullptr) found = machine;
            }
            begin = i + 1;
        }
    }
    return found;
}

double amount_of(const ResourceValue* value) {
    return value != nullptr && value->amount ? *value->amount : 0;
}

void check_default_machine(const File& file, Report& report) {
    if (!file.is_prose()) return;
    const GpuInstance* machine = default_machine(file);
    if (machine == nullptr) return;
    for (const PodSpec& pod : file.pods) {
        if (gpu_need(pod).value == nullptr || !machines_of(pod).empty()) continue;
        report_misfit(need_of(pod), {machine}, ", the default of this text", report);
    }
    for (const ResourceBlock& block : loose_resources(file)) {
        if (block.gpu() == nullptr) continue;
        Need need;
        const ResourceValue* cpu = block.need("cpu");
        const ResourceValue* memory = block.need("memory");
        need.cpu = amount_of(cpu);
        need.memory = amount_of(memory);
        need.mark = cpu != nullptr ? cpu->key->mark : block.node->mark;
        report_misfit(need, {machine}, ", the default of this text", report);
    }
}

/// The value of `name="..."` in a call of Python; empty when it is not there.
std::string argument(std::string_view text, std::string_view name, std::size_t& at) {
    at = 0;
    while ((at = text.find(name, at)) != std::string_view::npos) {
        const std::size_t behind = at + name.size();
        const bool begins = at == 0 || std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0;
        if (begins && behind + 1 < text.size() && text[behind] == '=' &&
            (text[behind + 1] == '"' || text[behind + 1] == '\'')) {
            const auto end = text.find(text[behind + 1], behind + 2);
            if (end == std::string_view::npos) return {};
            return std::string(text.substr(behind + 2, end - behind - 2));
        }
        at = behind;
    }
    return {};
}

/// create_job(gpu_type="v100", cpu="8000m") beside a selector that says which machine has the V100.
void check_python(const File& file, Report& report) {
    for (const Block& block : file.blocks) {
        if (block.language != Language::kPython) continue;
        std::size_t at = 0;
        const std::string gpu = argument(block.text, "gpu_type", at);
        const std::string cpu = argument(block.text, "cpu", at);
        const auto cores = k8s::quantity_value(cpu);
        const auto* model = gpu.empty() ? nullptr : catalog::find_gpu_model(gpu);
        if (model == nullptr || !cores) continue;
        for (const PodSpec& pod : file.pods) {
            const auto machines = machines_of(pod);
            if (machines.size() != 1 || machines[0]->model != model) continue;
            Need need;
            need.cpu = *cores;
            need.mark = block.place(at);
            report_misfit(need, machines, "", report);
            break;
        }
    }
}

void check_taints(const PodSpec& pod, const Facts& facts, Report& report) {
    const GpuNeed need = gpu_need(pod);
    if (need.value == nullptr || !pod.whole) return;
    const auto tolerations = k8s::read_tolerations(pod.tolerations);
    const k8s::Taint* taint = nullptr;
    for (const NodeFacts& node : facts.nodes) {
        const auto offered = node.allocatable.find(need.value->name);
        if (offered == node.allocatable.end() || offered->second <= 0) continue;
        const k8s::Taint* bad = nullptr;
        for (const k8s::Taint& one : node.taints) {
            if (one.keeps_away() && !k8s::tolerates(tolerations, one)) bad = &one;
        }
        if (bad == nullptr) return;
        taint = bad;
    }
    if (taint == nullptr) return;
    report.add("POD003", need.value->key->mark,
               "every node with " + need.value->name +
                   " has a taint that the pod does not tolerate: " + taint->key + "=" +
                   taint->value + ":" + taint->effect);
}

void check_runtime_class(const File& file, const PodSpec& pod, const Facts* facts, Report& report) {
    if (pod.runtime_class.empty() || is_placeholder(pod.runtime_class) || pod.node == nullptr)
        return;
    const Value* node = pod.node->find("runtimeClassName");
    const Mark mark = node != nullptr ? node->mark : pod.node->mark;
    if (facts != nullptr && !facts->runtime_classes.empty() &&
        facts->runtime_classes.count(pod.runtime_class) == 0) {
        report.add("POD018", mark, "the cluster has no RuntimeClass '" + pod.runtime_class + "'");
        return;
    }
    const std::string& name = pod.runtime_class;
    const bool wrong =
        name == "nvidia-container-runtime" || name == "nvidia-runtime" || name == "NVIDIA" ||
        name == "Nvidia" ||
        (name != "nvidia" && name.size() < 9 && nearest(name, {"nvidia"}) == "nvidia");
    if (!wrong || file.find_object("RuntimeClass", name) != nullptr) return;
    report.add("POD018", mark, "the RuntimeClass '" + name + "' is not the one that NVIDIA makes")
        .expected("nvidia")
        .fix("runtimeClassName: nvidia");
}

/// The CUDA version in a tag: "12.4.1-base-ubuntu22.04", "2.1.0-cuda12.1-cudnn8".
std::optional<catalog::Version> cuda_of(std::string_view image) {
    const auto colon = image.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const std::string_view tag = image.substr(colon + 1);
    const auto word = tag.find("cuda");
    if (word != std::string_view::npos) return catalog::parse_version(tag.substr(word + 4));
    if (image.find("nvidia/cuda:") != std::string_view::npos) return catalog::parse_version(tag);
    return std::nullopt;
}

void check_drivers(const PodSpec& pod, const Facts& facts, Report& report) {
    const GpuNeed need = gpu_need(pod);
    if (need.container == nullptr || need.container->image_node == nullptr) return;
    const auto cuda = cuda_of(need.container->image);
    if (!cuda) return;
    const auto floor = catalog::parse_version(catalog::driver_floor(cuda->major()));
    if (!floor) return;
    std::string newest;
    for (const NodeFacts& node : facts.nodes) {
        const auto offered = node.allocatable.find(need.value->name);
        if (offered == node.allocatable.end() || offered->second <= 0) continue;
        const auto driver = catalog::parse_version(node.driver_version);
        if (!driver || *driver >= *floor) return;
        newest = node.driver_version;
    }
    if (newest.empty()) return;
    report.add("POD022", need.container->image_node->mark,
               "the image has CUDA " + std::to_string(cuda->major()) + "." +
                   std::to_string(cuda->minor()) + ", which needs driver " +
                   std::string(catalog::driver_floor(cuda->major())) +
                   " or newer; the nodes have " + newest);
}

}  // namespace

void check_pod_nodes(const File& file, const Set& /*set*/, const Facts* facts, Report& report) {
    for (const PodSpec& pod : file.pods) {
        check_pinned(file, pod, report);
        check_runtime_class(file, pod, facts, report);
        if (facts == nullptr) continue;
        check_taints(pod, *facts, report);
        check_drivers(pod, *facts, report);
    }
    check_default_machine(file, report);
    if (file.mentions("gpu_type")) check_python(file, report);
}

}  // namespace aliquot::lint
