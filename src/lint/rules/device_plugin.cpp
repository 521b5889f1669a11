// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/number.h"
#include "k8s/quantity.h"
#include "lint/families.h"
#include "lint/words.h"
#include "sharing/config.h"
#include "syntax/yaml_text.h"

/// DPC: the configuration of the device plugin itself. sharing reads it as the plugin does; here are the rules
/// that need what stands around it: the GPU that a heading names, the memory that a comment promises.
namespace aliquot::lint {
namespace {

using findings::Severity;

/// The text of one document of a block: all other lines are blank, so that places stay.
std::string document_text(const File& file, const Object& object) {
    const Block& block = file.blocks[static_cast<std::size_t>(object.block)];
    if (object.documents <= 1) return block.text;
    unsigned first = object.mark().line;
    unsigned last = block.line + block.lines();
    for (const Object& other : file.objects) {
        if (other.block != object.block || other.index == object.index) continue;
        if (other.mark().line > first) last = std::min(last, other.mark().line);
    }
    std::string text = block.text;
    unsigned line = block.line;
    for (char& c : text) {
        if (c == '\n') {
            ++line;
        } else if (line < first || line >= last || (c == '-' && line + 1 == last)) {
            c = ' ';
        }
    }
    return text;
}

/// Whether a finding of sharing is none here: it is about our agent alone, or about the file as a whole.
bool is_left_out(const File& file, std::string_view rule) {
    if (rule == "DPC037" || rule == "DPC022")
        return true;                           // not a configuration; each document is looked at
    return !file.aliquot && rule == "DPC033";  // NVIDIA's chart sets it by itself
}

/// Whether a rule looks at where a key stands, whatever its value will be.
bool is_about_keys(std::string_view rule) {
    return rule == "DPC002" || rule == "DPC003" || rule == "DPC004" || rule == "DPC012" ||
           rule == "DPC021" || rule == "DPC024" || rule == "DPC025";
}

/// "replicas: ${COUNT:=4}", "replicas: <count>": what stands there is not known.
bool is_filled_in_later(const File& file, unsigned line) {
    const std::string_view text = file.line(line);
    const auto colon = text.find(": ");
    const auto equals = text.find(" = ");
    if (equals != std::string_view::npos && file.kind == FileKind::kHcl) {
        for (const std::string_view reference : {"var.", "local.", "each.", "module.", "data."}) {
            if (trim(text.substr(equals + 3)).starts_with(reference)) return true;
        }
    }
    if (colon == std::string_view::npos) return false;
    std::string_view value = trim(text.substr(colon + 2));
    value = trim(value.substr(0, value.find(" #")));
    return is_placeholder(value);
}

void check_text(const File& file, const Block& block, const std::string& text, Report& report) {
    const auto compatibility =
        file.aliquot ? sharing::Compatibility::kStrict : sharing::Compatibility::kNvidia;
    const sharing::ReadConfig read = sharing::read_config(file.name, text, compatibility);
    const bool stops =
        std::any_of(read.findings.begin(), read.findings.end(),
                    [](const findings::Finding& one) { return one.rule == "DPC003"; });
    for (const findings::Finding& one : read.findings) {
        if (is_left_out(file, one.rule)) continue;
        if (one.rule == "DPC002" && stops) continue;  // one mistake, one finding
        const bool of_value = !is_about_keys(one.rule);
        if (of_value && is_filled_in_later(file, block.place(Mark{one.line, one.column}).line)) {
            continue;
        }
        report.add(one.rule, block.place(Mark{one.line, one.column}), one.message)
            .expected(one.expected)
            .fix(one.fix)
            .severity(one.rule == "DPC008" ? Severity::kError : one.severity);
    }
}

/// The plugin reads the first document of its file.
void check_second_document(const File& file, const Object& object, Report& report) {
    const Block& block = file.blocks[static_cast<std::size_t>(object.block)];
    if (object.index == 0 || (block.setting != Setting::kFile && block.setting != Setting::kValue))
        return;
    const bool first =
        std::any_of(file.objects.begin(), file.objects.end(), [&object](const Object& other) {
            return other.block == object.block && other.index == 0 &&
                   other.role == Role::kDevicePluginConfig;
        });
    if (first)
        report.add("DPC022", object.mark(),
                   "a second document: the plugin reads the first one alone");
}

/// `timeSlicing` without failRequestsGreaterThanOne: two shares are no double share.
void check_greater_than_one(const Object& object, Report& report) {
    const Value::Entry* slicing = entry_at(*object.node, "sharing.timeSlicing");
    if (slicing == nullptr) slicing = entry_at(*object.node, "timeSlicing");
    if (slicing == nullptr || !slicing->second.is_mapping()) return;
    if (slicing->second.find("resources") == nullptr && slicing->second.find("replicas") == nullptr)
        return;
    if (slicing->second.find("failRequestsGreaterThanOne") != nullptr) return;
    report.add("DPC014", slicing->first.mark,
               "failRequestsGreaterThanOne is not set: a pod that asks for 2 shares gets them and "
               "no more time");
}

/// A GPU that a text names, and its memory in GB where the text says it.
std::optional<double> gigabytes_in(std::string_view text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] < '0' || text[at] > '9' ||
            (at > 0 && (text[at - 1] == '.' || (text[at - 1] >= '0' && text[at - 1] <= '9')))) {
            continue;
        }
        std::size_t end = at;
        while (end < text.size() && ((text[end] >= '0' && text[end] <= '9') || text[end] == '.'))
            ++end;
        std::size_t unit = end;
        while (unit < text.size() && text[unit] == ' ') ++unit;
        const std::string_view rest = text.substr(unit, 3);
        if (rest.starts_with("GB") || rest.starts_with("GiB") || rest.starts_with("Gi")) {
            return k8s::quantity_value(text.substr(at, end - at));
        }
        at = end;
    }
    return std::nullopt;
}

/// GPUs before Volta: MPS has neither limits nor isolation there, and NVIDIA's plugin refuses it.
bool names_old_gpu(std::string_view text) {
    constexpr std::array<std::string_view, 20> kOld{
        "GTX 1050",   "GTX 1060",  "GTX 1070",  "GTX 1080", "GTX1070",  "GTX1080",  "GTX1060",
        "GTX 980",    "GTX 970",   "GTX 960",   "Titan X",  "Titan Xp", "Tesla P4", "Tesla P40",
        "Tesla P100", "Tesla K80", "Tesla M60", "Quadro P", "GTX 10",   "GT 1030"};
    return std::any_of(kOld.begin(), kOld.end(),
                       [text](std::string_view name) { return contains(text, name); });
}

void check_old_gpu(const File& file, const Facts* facts, Report& report) {
    if (!file.mentions("mps")) return;
    for (const Statement& one : file.statements) {
        if (!contains_word(one.text, "MPS") || !names_old_gpu(one.text)) continue;
        const bool denies = contains(one.text, "not ") || contains(one.text, "no MPS") ||
                            contains(one.text, "n't") || contains(one.text, "only") ||
                            contains(one.text, "avoid") || contains(one.text, "refuse");
        const bool recommends = contains(one.text, "best") || contains(one.text, "recommend") ||
                                contains(one.text, "ideal") || contains(one.text, "use MPS") ||
                                contains(one.text, "enable MPS") || contains(one.text, "suit");
        if (denies || !recommends) continue;
        report.add("DPC011", one.mark, "MPS is recommended for a GPU before Volta");
    }
    for (const Object& object : file.objects) {
        if (object.role != Role::kDevicePluginConfig) continue;
        const Value::Entry* mps = entry_at(*object.node, "sharing.mps");
        if (mps == nullptr) continue;
        const Block& block = file.blocks[static_cast<std::size_t>(object.block)];
        const std::string heading =
            block.heading < 0 ? "" : file.headings[static_cast<std::size_t>(block.heading)].text;
        if (names_old_gpu(heading)) {
            report.add("DPC011", mps->first.mark, "MPS for '" + heading + "', a GPU before Volta");
            continue;
        }
        if (facts == nullptr || facts->nodes.empty()) continue;
        const bool all_old =
            std::all_of(facts->nodes.begin(), facts->nodes.end(), [](const NodeFacts& node) {
                return node.compute_capability && *node.compute_capability < 7.0;
            });
        if (all_old)
            report.add("DPC011", mps->first.mark,
                       "MPS, and every GPU of the cluster is before Volta");
    }
}

/// What a configuration and the comments around it say of memory.
struct Promise {
    const Object* object = nullptr;
    const Value* replicas = nullptr;
    double shares = 0;
    double each = 0;   // GB for a pod, of a comment
    double whole = 0;  // GB of the GPU, of the heading
    Mark each_mark;
    bool larger = false;  // a comment says that there is room for larger models
    Mark larger_mark;
};

const Value* replicas_of(const Object& object) {
    for (const std::string_view path :
         {"sharing.timeSlicing.resources.0.replicas", "sharing.mps.resources.0.replicas",
          "sharing.timeSlicing.replicas", "sharing.mps.replicas"}) {
        if (const Value* found = at_path(*object.node, path)) return found;
    }
    return nullptr;
}

std::optional<Promise> promise_of(const File& file, const Object& object) {
    const Value* replicas = replicas_of(object);
    if (replicas == nullptr) return std::nullopt;
    const Block& block = file.blocks[static_cast<std::size_t>(object.block)];
    if (block.heading < 0) return std::nullopt;
    const auto whole = gigabytes_in(file.headings[static_cast<std::size_t>(block.heading)].text);
    const auto shares = k8s::quantity_value(replicas->scalar);
    if (!whole || !shares) return std::nullopt;
    Promise promise{&object, replicas, *shares, 0, *whole, {}, false, {}};
    for (const Statement& one : file.statements) {
        if (one.mark.line < block.line || one.mark.line >= block.line + block.lines()) continue;
        const auto amount = gigabytes_in(one.text);
        const bool each = contains(one.text, "per pod") || contains(one.text, "per-pod") ||
                          contains(one.text, "each pod") || contains(one.text, "per process") ||
                          contains(one.text, "per replica");
        if (amount && each) {
            promise.each = *amount;
            promise.each_mark = one.mark;
        }
        if (contains(one.text, "larger model") || contains(one.text, "bigger model") ||
            contains(one.text, "headroom")) {
            promise.larger = true;
            promise.larger_mark = one.mark;
        }
    }
    return promise.each > 0 ? std::optional(promise) : std::nullopt;
}

void check_memory(const File& file, Report& report) {
    std::vector<Promise> promises;
    for (const Object& object : file.objects) {
        if (object.role != Role::kDevicePluginConfig) continue;
        if (auto promise = promise_of(file, object)) promises.push_back(*promise);
    }
    for (const Promise& one : promises) {
        if (one.shares * one.each > one.whole) {
            report.add("DPC013", one.each_mark,
                       decimal_text(one.shares, 6) + " replicas of " + decimal_text(one.each, 6) +
                           " GB are more than the GPU's " + decimal_text(one.whole, 6) + " GB");
            continue;
        }
        // The same share of a larger GPU holds no larger model.
        const auto smaller =
            std::find_if(promises.begin(), promises.end(), [&one](const Promise& other) {
                return other.whole < one.whole && other.each >= one.each;
            });
        if (one.larger && smaller != promises.end()) {
            report.add("DPC013", one.larger_mark,
                       "room for larger models is promised, but a pod gets " +
                           decimal_text(one.each, 6) + " GB here and " +
                           decimal_text(smaller->each, 6) + " GB of the " +
                           decimal_text(smaller->whole, 6) + " GB GPU (line " +
                           std::to_string(smaller->each_mark.line) + ")");
        }
    }
}

/// A ConfigMap value or a fence that is meant to be a configuration but is no YAML.
void check_unreadable(const File& file, Report& report) {
    for (const File::Unreadable& one : file.unreadable) {
        const Block& block = file.blocks[static_cast<std::size_t>(one.block)];
        const bool config = block.text.find("timeSlicing:") != std::string::npos ||
                            block.text.find("\nsharing:") != std::string::npos;
        const bool holder =
            std::any_of(file.objects.begin(), file.objects.end(), [&one](const Object& object) {
                return object.block == one.block &&
                       (object.templated || object.role == Role::kPatch);
            });
        if (!config || holder) continue;
        report.add("DPC020", one.mark, one.message);
    }
}

}  // namespace

void check_device_plugin(const File& file, const Set& /*set*/, const Facts* facts, Report& report) {
    if (!file.mentions("sharing") && !file.mentions("timeslicing") && !file.mentions("mps") &&
        !file.mentions("migstrategy") && !file.mentions("deviceliststrategy") &&
        !file.mentions("deviceidstrategy") &&
        !(file.mentions("version: v1") && file.mentions("replicas:"))) {
        return;
    }
    bool advised = false;
    for (const Object& object : file.objects) {
        if (object.role != Role::kDevicePluginConfig) continue;
        const Block& block = file.blocks[static_cast<std::size_t>(object.block)];
        // `timeSlicing:` alone, without `sharing:` above it, is an excerpt.
        const bool excerpt =
            object.node->find("sharing") == nullptr && object.node->find("version") == nullptr;
        const bool in_other = object.holder >= 0 && object.key.empty();
        // What cannot be read as a whole gets DPC020 and nothing that may follow from it.
        const bool broken =
            object.broken ||
            (object.holder >= 0 && file.objects[static_cast<std::size_t>(object.holder)].broken);
        const bool gaps =
            syntax::clean_templates(block.text).gaps;  // "..." stands for what is left out
        if (!excerpt && !in_other && !object.templated && !broken && !gaps) {
            check_text(file, block, document_text(file, object), report);
            check_second_document(file, object, report);
        }
        // A runbook that shows several configurations is told once.
        if (!file.is_prose() || !advised) check_greater_than_one(object, report);
        advised = true;
    }
    check_old_gpu(file, facts, report);
    check_memory(file, report);
    check_unreadable(file, report);
}

}  // namespace aliquot::lint
