// SPDX-License-Identifier: Apache-2.0
#include "plan/workload.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>
#include <system_error>

#include "base/nearest_word.h"
#include "base/number.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/units.h"
#include "catalog/models.h"
#include "document/yaml.h"
#include "k8s/memory_amount.h"
#include "sizing/memory.h"
#include "sizing/text.h"

namespace aliquot::plan {
namespace {

using document::Value;

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
constexpr std::size_t kMostWorkloads = 1000;

constexpr std::array<std::string_view, 6> kKinds{"inference", "training", "notebook",
                                                 "ci",        "batch",    "video"};
constexpr std::array<std::string_view, 4> kIsolations{"none", "memory", "fault", "security"};
constexpr std::array<std::string_view, 6> kFeatures{"nccl",      "p2p",    "ipc",
                                                    "profiling", "graphs", "nvenc"};
constexpr std::array<std::string_view, 26> kKeys{
    "name",       "kind",        "replicas",    "gpus",           "memory", "measured",  "image",
    "model",      "quant",       "ctx",         "batch",          "duty",   "rps",       "ms",
    "latency_ms", "bursty",      "preemptible", "never_together", "tenant", "isolation", "features",
    "cpu",        "host_memory", "cpu_seconds", "gpu_seconds",    "train"};
constexpr std::array<std::string_view, 3> kTrainings{"full", "lora", "qlora"};
constexpr std::string_view kEnough = "enough_seconds";

Error at(std::string_view file, const Value& node, const std::string& what) {
    return {ErrorCode::kInvalidInput, std::string(file) + ':' + std::to_string(node.mark.line) +
                                          ':' + std::to_string(node.mark.column) + ": " + what};
}

/// One workload being read: the fields that only together say something, and the first problem.
class Reader {
public:
    Reader(std::string_view file, const Value& node) : file_(file), node_(node) {}

    Result<Workload> read() {
        if (!node_.is_mapping()) {
            return at(file_, node_, describe(node_) + " found, a workload with 'name' expected");
        }
        for (const auto& entry : node_.entries) {
            check_key(entry.first);
            if (problem_) return *std::move(problem_);
            read_field(entry.first.scalar, entry.second);
            if (problem_) return *std::move(problem_);
        }
        finish();
        if (problem_) return *std::move(problem_);
        return std::move(workload_);
    }

private:
    void refuse(const Value& place, const std::string& what) {
        if (!problem_) problem_ = at(file_, place, what);
    }

    void check_key(const Value& key) {
        std::vector<std::string_view> known(kKeys.begin(), kKeys.end());
        known.push_back(kEnough);
        if (std::ranges::find(known, std::string_view(key.scalar)) == known.end()) {
            const auto near = nearest_word(key.scalar, known);
            refuse(key, "'" + key.scalar + "' is not a key of a workload" +
                            (near.empty() ? "; known: " + join(known) : did_you_mean(near)));
        }
        if (!seen_.insert(key.scalar).second) refuse(key, "'" + key.scalar + "' stands twice");
    }

    double number(const std::string& key, const Value& value, double least, double most) {
        const auto found = sizing::number_of(&value);
        if (found && *found >= least && *found <= most) return *found;
        refuse(value, "'" + key + "': a number of " + decimal_text(least) + " to " +
                          decimal_text(most) + " is expected, " + describe(value) + " found");
        return least;
    }

    unsigned count(const std::string& key, const Value& value, double most) {
        const double found = number(key, value, 1, most);
        if (found != std::floor(found)) refuse(value, "'" + key + "': a whole number is expected");
        return static_cast<unsigned>(found);
    }

    bool truth(const std::string& key, const Value& value) {
        if (value.kind != Value::Kind::kBool) {
            refuse(value,
                   "'" + key + "': true or false is expected, " + describe(value) + " found");
        }
        return value.scalar == "true";
    }

    std::string text(const std::string& key, const Value& value) {
        if (!value.is_string() || value.scalar.empty()) {
            refuse(value, "'" + key + "': a text is expected, " + describe(value) + " found");
        }
        return value.scalar;
    }

    void read_name(const Value& value) {
        workload_.name = text("name", value);
        const bool plain = std::ranges::all_of(workload_.name, [](char c) {
            return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
        });
        if (!plain || workload_.name.size() > 253 || object_name(workload_.name).empty()) {
            refuse(value, "'name': at most 253 letters, digits and '-' are expected");
        }
    }

    std::size_t word(const std::string& key, const Value& value,
                     std::span<const std::string_view> known) {
        const auto found = std::ranges::find(known, std::string_view(value.scalar));
        if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
        const auto near = nearest_word(value.scalar, known);
        refuse(value, "'" + key + "': one of " + join(known) + " is expected, " + describe(value) +
                          " found" + did_you_mean(near));
        return 0;
    }

    /// 8192 or 128k.
    double tokens(const Value& value) {
        constexpr double kMost = 1e8;
        const auto thousands = parse_number<double>(sizing::token_count(value.scalar));
        if (value.is_string() && thousands && *thousands >= 1 && *thousands <= kMost) {
            return *thousands;
        }
        return number("ctx", value, 1, kMost);
    }

    /// "2Gi", "512Mi", or a number of GiB.
    double gib(const std::string& key, const Value& value) {
        constexpr double kMost = 100'000;
        if (value.is_string()) {
            std::string amount;  // "2 GiB" as people write it is "2Gi"
            std::ranges::copy_if(value.scalar, std::back_inserter(amount),
                                 [](char c) { return c != ' '; });
            if (amount.size() > 2 && amount.ends_with('B')) amount.pop_back();
            const auto bytes = k8s::parse_bytes(amount);
            if (bytes && static_cast<double>(*bytes) / kGib <= kMost) {
                return static_cast<double>(*bytes) / kGib;
            }
            refuse(value, "'" + key + "': an amount such as 2Gi or 512Mi is expected, " +
                              describe(value) + " found");
            return 0;
        }
        return number(key, value, 0, kMost);
    }

    /// Of one GPU: a number without a unit that no GPU has means MiB.
    double gpu_gib(const Value& value) {
        constexpr double kLargestGpu = 512;
        const double found = gib("memory", value);
        if (!value.is_string() && found > kLargestGpu) {
            refuse(value, "'memory': " + value.scalar + " GiB are more than any GPU has; MiB are " +
                              "written as " + value.scalar + "Mi");
        }
        if (found <= 0)
            refuse(value, "'memory': more than 0 is expected; leave it out if not known");
        return found;
    }

    /// "4", "4000m" or a number of cores.
    double cores(const std::string& key, const Value& value) {
        constexpr double kMost = 10'000;
        if (value.is_string() && value.scalar.ends_with('m')) {
            const std::string_view text = value.scalar;
            const auto milli = parse_number<unsigned>(text.substr(0, text.size() - 1));
            if (milli) return *milli / 1000.0;
        }
        if (value.is_string() && value.quoted) {
            const auto found = parse_number<double>(value.scalar);
            if (found && *found >= 0 && *found <= kMost) return *found;
        }
        return number(key, value, 0, kMost);
    }

    void read_features(const Value& value) {
        if (value.is_string()) {
            word("features", value, kFeatures);
            workload_.features = {value.scalar};
            return;
        }
        if (!value.is_sequence()) {
            refuse(value, "'features': a list of " + join(kFeatures) + " is expected, " +
                              describe(value) + " found");
            return;
        }
        for (const Value& item : value.items) {
            word("features", item, kFeatures);
            workload_.features.push_back(item.scalar);
        }
    }

    void read_duty(const Value& value) {
        double percent = 0;
        if (value.is_string() && value.scalar.ends_with('%')) {
            const std::string_view text = value.scalar;
            percent = parse_number<double>(text.substr(0, text.size() - 1)).value_or(-1);
            if (percent < 0 || percent > kPercent) {
                refuse(value,
                       "'duty': 0 to 100 percent are expected, " + describe(value) + " found");
            }
        } else {
            percent = number("duty", value, 0, kPercent);
            if (percent > 0 && percent < 1) {
                refuse(value, "'duty': percent are expected, as 15 or 15%; " + value.scalar +
                                  " is less than one percent (written as " + value.scalar + "%)");
            }
        }
        workload_.duty_percent = percent;
    }

    void read_field(const std::string& key, const Value& value) {
        constexpr double kMost = 1e6;
        constexpr double kMostReplicas = 1000;
        Workload& w = workload_;
        if (key == "name") read_name(value);
        if (key == "kind") w.kind = static_cast<Kind>(word(key, value, kKinds));
        if (key == "replicas") w.replicas = count(key, value, kMostReplicas);
        if (key == "gpus") w.gpus = count(key, value, 64);
        if (key == "memory") w.memory_gib = gpu_gib(value);
        if (key == "measured") measured_ = truth(key, value);
        if (key == "image") image_ = text(key, value);
        if (key == "model") model_ = text(key, value);
        if (key == "quant") quant_ = &value;
        if (key == "ctx") load_.context = tokens(value);
        if (key == "train") train_ = kTrainings[word(key, value, kTrainings)];
        if (key == "batch") load_.batch = number(key, value, 1, kMost);
        if (key == "duty") read_duty(value);
        if (key == "rps") rps_ = number(key, value, 0, kMost);
        if (key == "ms") milliseconds_ = number(key, value, 0, kMost);
        if (key == "latency_ms") w.latency_ms = number(key, value, 0, kMost);
        if (key == "bursty") bursty_ = truth(key, value);
        if (key == "preemptible") w.preemptible = truth(key, value);
        if (key == "never_together") w.never_together = truth(key, value);
        if (key == "tenant") w.tenant = text(key, value);
        if (key == "isolation") w.isolation = static_cast<Isolation>(word(key, value, kIsolations));
        if (key == "features") read_features(value);
        if (key == "cpu") w.cpu = cores(key, value);
        if (key == "host_memory") w.host_memory_mib = gib(key, value) * 1024;
        if (key == "cpu_seconds") w.cpu_seconds = number(key, value, 0, kMost);
        if (key == "gpu_seconds") w.gpu_seconds = number(key, value, 0, kMost);
        if (key == kEnough) w.enough_seconds = number(key, value, 0, kMost);
    }

    void finish() {
        workload_.mark = node_.mark;
        if (workload_.name.empty()) refuse(node_, "a workload needs a 'name'");
        constexpr double kMilliseconds = 1000;
        if (!workload_.duty_percent && rps_ > 0 && milliseconds_ > 0) {
            workload_.duty_percent =
                std::min(kPercent, rps_ * milliseconds_ / kMilliseconds * kPercent);
        }
        if (!train_.empty() && model_.empty()) {
            refuse(*node_.find("train"), "'train' needs a 'model'");
        }
        if (!train_.empty() && !seen_.contains("kind")) workload_.kind = Kind::kTraining;
        const Certainty told = measured_ ? Certainty::kMeasured : Certainty::kDeclared;
        if (workload_.duty_percent) workload_.duty_certainty = told;
        if (workload_.memory_gib > 0) {
            workload_.memory_certainty = told;
            workload_.memory_reason = measured_ ? "measured" : "from the file";
        } else if (!model_.empty()) {
            memory_from_model();
        } else if (!image_.empty()) {
            memory_from_image();
        }
        const bool steady_told = seen_.contains("bursty");
        fill_guesses(workload_);
        if (steady_told) workload_.bursty = bursty_;
    }

    void memory_from_model() {
        const auto shape = sizing::model_by_name(model_);
        if (!shape) {
            refuse(*node_.find("model"), shape.error().message);
            return;
        }
        const auto load = training_load(*shape, train_);
        if (!load) {
            refuse(*node_.find("train"), "'train': " + load.error().message);
            return;
        }
        load_.task = load->task;
        load_.dtype = load->dtype;
        load_.checkpointing = load->checkpointing;
        if (quant_ != nullptr) {
            const auto dtype = sizing::parse_dtype(quant_->scalar);
            if (!dtype) {
                refuse(*quant_, "'quant': " + dtype.error().message);
                return;
            }
            load_.dtype = *dtype;
        }
        workload_.format_told = quant_ != nullptr || shape->format.has_value();
        load_.gpus = workload_.gpus;
        const auto filled = fill_memory_of_model(workload_, *shape, load_, !seen_.contains("gpus"));
        if (!filled) refuse(node_, filled.error().message);
    }

    void memory_from_image() {
        const catalog::KnownImage* const image = catalog::find_known_image(image_);
        if (image == nullptr) return;
        workload_.memory_gib = image->memory_gib;
        workload_.memory_reason = "usual for " + std::string(image->what);
        if (image->takes_whole_gpu) workload_.features.emplace_back("whole");
        workload_.bursty = image->bursty;
        bursty_ = image->bursty;
        if (!workload_.duty_percent) workload_.duty_percent = image->duty_percent;
    }

    std::string_view file_;
    const Value& node_;
    Workload workload_;
    std::optional<Error> problem_;
    std::set<std::string> seen_;
    bool measured_ = false;
    bool bursty_ = false;
    double rps_ = 0;
    double milliseconds_ = 0;
    std::string image_;
    std::string model_;
    std::string_view train_;
    const Value* quant_ = nullptr;
    sizing::Load load_;
};

}  // namespace

std::string_view to_text(Kind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::string_view to_text(Isolation isolation) {
    return kIsolations[static_cast<std::size_t>(isolation)];
}

bool Workload::uses(std::string_view feature) const {
    return std::ranges::find(features, feature) != features.end();
}

Result<std::vector<Workload>> read_workloads(std::string_view file, std::string_view text) {
    const auto stream = document::parse_yaml(text);
    if (!stream.errors.empty()) {
        Value place;
        place.mark = stream.errors.front().mark;
        return at(file, place, stream.errors.front().message);
    }
    const Value* list = stream.documents.empty() ? nullptr : &stream.documents.front();
    if (list != nullptr && list->is_mapping()) {
        for (const auto& entry : list->entries) {
            if (entry.first.scalar == "workloads") continue;
            return at(file, entry.first,
                      "'" + entry.first.scalar + "' found, only 'workloads' is expected here");
        }
        list = list->find("workloads");
    }
    if (list != nullptr && list->is_sequence() && list->items.empty()) {
        return at(file, *list, "the list of workloads is empty; at least one is expected");
    }
    if (list == nullptr || !list->is_sequence()) {
        return Error{ErrorCode::kInvalidInput,
                     std::string(file) +
                         ": a list of workloads is expected, at the top or under 'workloads'"};
    }
    if (list->items.size() > kMostWorkloads) {
        return at(file, *list, "more than 1000 workloads");
    }
    std::vector<Workload> workloads;
    std::set<std::string> names;
    for (const Value& item : list->items) {
        auto workload = Reader(file, item).read();
        if (!workload) return std::move(workload).error();
        if (!names.insert(workload->name).second) {
            return at(file, item, "the name '" + workload->name + "' stands twice");
        }
        workloads.push_back(*std::move(workload));
    }
    return workloads;
}

}  // namespace aliquot::plan
