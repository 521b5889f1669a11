// SPDX-License-Identifier: Apache-2.0
#include "cluster_jobs/queue_file.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/nearest_word.h"
#include "base/number.h"
#include "base/sentence.h"
#include "base/text.h"
#include "catalog/gpu_models.h"
#include "cluster_jobs/workload.h"
#include "document/build.h"
#include "document/json.h"
#include "document/path.h"
#include "jobs/preset.h"
#include "k8s/names.h"
#include "k8s/quantity.h"
#include "k8s/resource_name.h"

namespace aliquot::cluster_jobs {
namespace {

using document::make_mapping;
using document::only_if;
using document::text_at;
using document::Value;

constexpr char kApi[] = "kueue.x-k8s.io/v1beta2";
constexpr char kCheckName[] = "aliquot-placement";
constexpr std::size_t kMostQueues = 1'000;
constexpr std::uint32_t kMostGpus = 1'000'000;
// Jobs may use as much CPU and memory as nodes have: the scheduler sees to that.
constexpr char kAnyCpu[] = "1000000";
constexpr char kAnyMemory[] = "1Pi";

Error wrong(const std::string& path, const std::string& message) {
    return {ErrorCode::kInvalidInput, path + ": " + message};
}

Result<Done> only_keys(const Value& mapping, const std::string& path,
                       const std::vector<std::string_view>& known) {
    if (!mapping.is_mapping()) {
        return wrong(path, describe(mapping) + " found, a mapping expected");
    }
    for (const auto& entry : mapping.entries) {
        const std::string& key = entry.first.scalar;
        if (std::find(known.begin(), known.end(), key) != known.end()) continue;
        return wrong(path, "'" + one_line(key, 80) + "' is not a field" +
                               did_you_mean(nearest_word(key, known)) + "; expected " +
                               join(std::vector<std::string>(known.begin(), known.end()), ", "));
    }
    return Done{};
}

using Amounts = std::vector<std::pair<std::string, std::uint32_t>>;  // by flavour, in order

Result<Amounts> amounts_at(const Value& queue, const char* key, const std::string& path) {
    Amounts amounts;
    const Value* const found = queue.find(key);
    if (found == nullptr) return amounts;
    const std::string here = path + "." + key;
    if (!found->is_mapping())
        return wrong(here, describe(*found) + " found, GPUs by flavour such as {a100: 8} expected");
    for (const auto& [flavor, amount] : found->entries) {
        const auto number = parse_number<std::uint32_t>(amount.scalar);
        if (const auto problem = k8s::check_dns_label(flavor.scalar); !problem.empty())
            return wrong(here, "'" + one_line(flavor.scalar, 80) + "': " + problem);
        if (!number || *number > kMostGpus) {
            return wrong(here + "." + flavor.scalar,
                         "'" + one_line(amount.scalar, 40) + "' is not a number of GPUs");
        }
        amounts.emplace_back(flavor.scalar, *number);
    }
    return amounts;
}

std::optional<std::uint32_t> amount_of(const Amounts& amounts, const std::string& flavor) {
    for (const auto& [name, amount] : amounts) {
        if (name == flavor) return amount;
    }
    return std::nullopt;
}

struct Word {
    std::string_view ours;
    std::string_view kueue;
};

Result<std::string> word_at(const Value& queue, const char* key, const std::string& path,
                            const std::vector<Word>& words) {
    const std::string said = text_at(queue, {key});
    if (said.empty()) return std::string(words.front().kueue);
    std::vector<std::string> known;
    for (const Word& one : words) {
        if (one.ours == said) return std::string(one.kueue);
        known.emplace_back(one.ours);
    }
    return wrong(path + "." + key,
                 "'" + one_line(said, 40) + "' is not one of " + join(known, ", "));
}

Result<std::string> quantity_at(const Value& queue, const char* key, const std::string& path,
                                const char* otherwise) {
    const std::string said = text_at(queue, {key});
    if (said.empty()) return std::string(otherwise);
    const auto amount = k8s::Quantity::parse(said);
    if (!amount || amount->nanos() < 0)
        return wrong(path + "." + key, "'" + one_line(said, 40) + "' is not an amount");
    return said;
}

Value object(const char* kind, const std::string& name, const std::string& space, Value spec) {
    return make_mapping(
        {{"apiVersion", kApi},
         {"kind", kind},
         {"metadata",
          make_mapping({{"name", name}, {"namespace", only_if(!space.empty(), space)}})},
         {"spec", std::move(spec)}});
}

class Reader {
public:
    Result<std::vector<Value>> read(const Value& file);

private:
    Result<Done> read_flavor(const Value& flavor, const std::string& path);
    Result<Done> read_queue(const Value& queue, const std::string& path);
    Result<Done> read_spaces(const Value& queue, const std::string& path, const std::string& name);
    Result<Value> flavors_of(const Value& queue, const std::string& path);
    void use_flavor(const std::string& name);

    std::string resource_ = "nvidia.com/gpu";
    std::map<std::string, Value> given_;  // flavours that the file describes, by name
    std::set<std::string> used_;
    std::set<std::string> names_;
    std::set<std::string> locals_;
    bool checks_ = false;
    std::vector<Value> flavors_;
    std::vector<Value> queues_;
    std::vector<Value> local_queues_;
};

Result<Done> Reader::read_flavor(const Value& flavor, const std::string& path) {
    if (auto keys = only_keys(flavor, path, {"name", "labels", "tolerate"}); !keys) return keys;
    const std::string name = text_at(flavor, {"name"});
    if (const auto problem = k8s::check_dns_label(name); !problem.empty())
        return wrong(path + ".name", "'" + one_line(name, 80) + "': " + problem);
    Value spec = make_mapping();
    if (const Value* const labels = flavor.find("labels")) {
        for (const auto& [key, value] : labels->entries) {
            if (!k8s::is_label_key(key.scalar) || !k8s::is_label_value(value.scalar))
                return wrong(path + ".labels", "'" + one_line(key.scalar, 80) + "' is not a label");
        }
        document::append(spec, "nodeLabels", *labels);
    }
    Value tolerations = document::make_sequence();
    for (const Value& key : document::items_at(flavor, {"tolerate"})) {
        if (!k8s::is_label_key(key.scalar))
            return wrong(path + ".tolerate", "'" + one_line(key.scalar, 80) + "' is not a taint");
        tolerations.items.push_back(make_mapping({{"key", key.scalar}, {"operator", "Exists"}}));
    }
    if (!tolerations.items.empty()) document::append(spec, "tolerations", std::move(tolerations));
    if (!given_.emplace(name, std::move(spec)).second)
        return wrong(path + ".name", "'" + name + "' is there twice");
    return Done{};
}

void Reader::use_flavor(const std::string& name) {
    if (!used_.insert(name).second) return;
    if (const auto given = given_.find(name); given != given_.end()) {
        flavors_.push_back(object("ResourceFlavor", name, "", given->second));
        return;
    }
    Value labels = make_mapping();
    const std::string accelerator = jobs::accelerator_of(name);
    if (!accelerator.empty()) document::append(labels, "accelerator", accelerator);
    const bool some = !labels.entries.empty();
    flavors_.push_back(object("ResourceFlavor", name, "",
                              make_mapping({{"nodeLabels", only_if(some, std::move(labels))}})));
}

Result<Value> Reader::flavors_of(const Value& queue, const std::string& path) {
    const auto gpus = amounts_at(queue, "gpus", path);
    const auto borrow = amounts_at(queue, "borrow", path);
    const auto lend = amounts_at(queue, "lend", path);
    const auto cpu = quantity_at(queue, "cpu", path, kAnyCpu);
    const auto memory = quantity_at(queue, "memory", path, kAnyMemory);
    for (const Error* const error :
         {gpus ? nullptr : &gpus.error(), borrow ? nullptr : &borrow.error(),
          lend ? nullptr : &lend.error(), cpu ? nullptr : &cpu.error(),
          memory ? nullptr : &memory.error()}) {
        if (error != nullptr) return *error;
    }
    if (gpus->empty())
        return wrong(path + ".gpus", "is missing; expected GPUs by flavour such as {a100: 8}");
    for (const Amounts* const some : {&*borrow, &*lend}) {
        for (const auto& [flavor, amount] : *some) {
            if (amount_of(*gpus, flavor)) continue;
            return wrong(path + (some == &*borrow ? ".borrow." : ".lend.") + flavor,
                         "gpus has no such flavour");
        }
    }
    const bool alone = text_at(queue, {"cohort"}).empty();
    if (alone && !(borrow->empty() && lend->empty()))
        return wrong(path, "borrow and lend need a cohort to borrow from and to lend to");
    Value list = document::make_sequence();
    for (const auto& [flavor, amount] : *gpus) {
        if (!given_.contains(flavor) && flavor != "any" &&
            catalog::find_gpu_model(flavor) == nullptr) {
            return wrong(path + ".gpus." + flavor,
                         "is no GPU model that is known; describe it under flavors");
        }
        use_flavor(flavor);
        const auto most_borrow = amount_of(*borrow, flavor);
        const auto most_lend = amount_of(*lend, flavor);
        const Value of_gpu =
            make_mapping({{"name", resource_},
                          {"nominalQuota", std::to_string(amount)},
                          {"borrowingLimit", only_if(most_borrow.has_value(),
                                                     std::to_string(most_borrow.value_or(0)))},
                          {"lendingLimit",
                           only_if(most_lend.has_value(), std::to_string(most_lend.value_or(0)))}});
        const Value of_cpu = make_mapping({{"name", "cpu"}, {"nominalQuota", *cpu}});
        const Value of_memory = make_mapping({{"name", "memory"}, {"nominalQuota", *memory}});
        list.items.push_back(make_mapping(
            {{"name", flavor}, {"resources", std::vector<Value>{of_cpu, of_memory, of_gpu}}}));
    }
    return list;
}

Result<Done> Reader::read_spaces(const Value& queue, const std::string& path,
                                 const std::string& name) {
    std::vector<std::string> spaces;
    for (const Value& one : document::items_at(queue, {"namespaces"})) spaces.push_back(one.scalar);
    if (spaces.empty()) spaces.push_back(name);
    for (const std::string& space : spaces) {
        if (const auto problem = k8s::check_dns_label(space); !problem.empty())
            return wrong(path + ".namespaces", "'" + one_line(space, 80) + "': " + problem);
        if (!locals_.insert(space + "/" + name).second)
            return wrong(path + ".namespaces", "'" + space + "' is there twice");
        local_queues_.push_back(
            object("LocalQueue", name, space, make_mapping({{"clusterQueue", name}})));
    }
    return Done{};
}

Result<Done> Reader::read_queue(const Value& queue, const std::string& path) {
    if (auto keys = only_keys(queue, path,
                              {"name", "namespaces", "cohort", "gpus", "borrow", "lend", "cpu",
                               "memory", "order", "preempt", "reclaim", "check-placement"});
        !keys)
        return keys;
    const std::string name = text_at(queue, {"name"});
    if (const auto problem = k8s::check_dns_label(name); !problem.empty())
        return wrong(path + ".name", "'" + one_line(name, 80) + "': " + problem);
    if (!names_.insert(name).second) return wrong(path + ".name", "'" + name + "' is there twice");
    const std::string cohort = text_at(queue, {"cohort"});
    if (const auto problem = k8s::check_dns_label(cohort); !cohort.empty() && !problem.empty())
        return wrong(path + ".cohort", "'" + one_line(cohort, 80) + "': " + problem);
    auto flavors = flavors_of(queue, path);
    if (!flavors) return std::move(flavors).error();
    const auto order = word_at(queue, "order", path,
                               {{"best-effort", "BestEffortFIFO"}, {"strict", "StrictFIFO"}});
    const auto preempt =
        word_at(queue, "preempt", path, {{"never", "Never"}, {"lower-priority", "LowerPriority"}});
    const auto reclaim =
        word_at(queue, "reclaim", path,
                {{"never", "Never"}, {"lower-priority", "LowerPriority"}, {"any", "Any"}});
    for (const auto* const one : {&order, &preempt, &reclaim}) {
        if (!*one) return one->error();
    }
    const std::string check = text_at(queue, {"check-placement"});
    if (!check.empty() && check != "true" && check != "false")
        return wrong(path + ".check-placement", "expected true or false");
    const bool checked = check == "true";
    checks_ = checks_ || checked;
    const Value group =
        make_mapping({{"coveredResources", std::vector<std::string>{"cpu", "memory", resource_}},
                      {"flavors", *std::move(flavors)}});
    const Value strategy = make_mapping(
        {{"admissionChecks", std::vector<Value>{make_mapping({{"name", kCheckName}})}}});
    queues_.push_back(
        object("ClusterQueue", name, "",
               make_mapping({{"resourceGroups", std::vector<Value>{group}},
                             {"cohortName", only_if(!cohort.empty(), cohort)},
                             {"queueingStrategy", *order},
                             {"namespaceSelector", make_mapping()},
                             {"preemption", make_mapping({{"withinClusterQueue", *preempt},
                                                          {"reclaimWithinCohort", *reclaim}})},
                             {"admissionChecksStrategy", only_if(checked, strategy)}})));
    return read_spaces(queue, path, name);
}

Result<std::vector<Value>> Reader::read(const Value& file) {
    if (auto keys = only_keys(file, "queues", {"queues", "flavors", "resource"}); !keys)
        return std::move(keys).error();
    if (const std::string named = text_at(file, {"resource"}); !named.empty()) {
        if (!k8s::is_extended_resource(named))
            return wrong("resource", "'" + one_line(named, 80) + "' is not an extended resource");
        resource_ = named;
    }
    const auto& flavors = document::items_at(file, {"flavors"});
    for (std::size_t i = 0; i < flavors.size(); ++i) {
        const auto done = read_flavor(flavors[i], "flavors[" + std::to_string(i) + "]");
        if (!done) return done.error();
    }
    const auto& queues = document::items_at(file, {"queues"});
    if (queues.empty() || queues.size() > kMostQueues)
        return wrong("queues", "expected 1 to " + std::to_string(kMostQueues) + " queues");
    for (std::size_t i = 0; i < queues.size(); ++i) {
        const auto done = read_queue(queues[i], "queues[" + std::to_string(i) + "]");
        if (!done) return done.error();
    }
    for (const auto& [name, spec] : given_) {
        if (!used_.contains(name)) return wrong("flavors", "no queue has GPUs of '" + name + "'");
    }
    std::vector<Value> all = std::move(flavors_);
    if (checks_) {
        all.push_back(object("AdmissionCheck", kCheckName, "",
                             make_mapping({{"controllerName", kCheckController}})));
    }
    all.insert(all.end(), queues_.begin(), queues_.end());
    all.insert(all.end(), local_queues_.begin(), local_queues_.end());
    return all;
}

}  // namespace

Result<std::vector<Value>> read_queue_file(std::string_view text) {
    const auto file = document::parse_object(text);
    if (!file) return file.error();
    return Reader().read(*file);
}

}  // namespace aliquot::cluster_jobs
