// SPDX-License-Identifier: Apache-2.0
// MIG devices that pods ask for: MIG002, MIG004, MIG006, MIG009, MIG010; and what texts say of MIG:
// MIG008, MIG011.
#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "base/text.h"
#include "k8s/resource_name.h"
#include "lint/rules/evidence.h"
#include "lint/rules/mig_fit.h"
#include "lint/rules/mig_rules.h"
#include "lint/rules/named_models.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using catalog::GpuModel;
using findings::Severity;

/// The model that a pod's selector pins; nullptr: none that we know. `memory`: the selector says how
/// much it has ("A100" alone is one of two).
struct Pinned {
    const GpuModel* model = nullptr;
    bool memory = false;
};
Pinned pinned_model(const PodSpec& pod) {
    if (pod.node_selector == nullptr) return {};
    for (const std::string_view key : {"nvidia.com/gpu.product", "cloud.google.com/gke-accelerator",
                                       "k8s.amazonaws.com/accelerator"}) {
        const Value* value = pod.node_selector->find(key);
        if (value == nullptr || is_placeholder(value->scalar)) continue;
        const std::string name = value->scalar.substr(0, value->scalar.find("-MIG-"));
        if (const auto* model = catalog::find_gpu_model(name)) {
            const std::string folded = lower(name);
            return {model, model->memory_gib > 40 || folded.find("40gb") != std::string::npos ||
                               folded == "nvidia-tesla-a100"};
        }
    }
    return {};
}

/// MIG004, where the text is about one model.
void check_told_model(const File& file, const PodSpec& pod, const ResourceValue& value,
                      NamedModels& models, Report& report) {
    const Object* object = file.object(pod);
    const int block = object == nullptr ? -1 : object->block;
    const int heading = block < 0 ? -1 : file.blocks[static_cast<std::size_t>(block)].heading;
    const auto told = models.at(value.key->mark, heading, {});
    if (!told || told->has_mig()) return;
    report.add("MIG004", value.key->mark,
               "the pod asks for " + value.name + ", and the text is about " + told->name +
                   ", which has no MIG");
}

void check_profile(const PodSpec& pod, const ResourceValue& value, std::string_view profile,
                   Report& report) {
    if (is_placeholder(value.name)) return;
    if (!is_known_profile(profile)) {
        report.add("MIG002", value.key->mark,
                   "no GPU has the MIG profile '" + std::string(profile) + "'");
        return;
    }
    const auto [model, memory] = pinned_model(pod);
    if (model == nullptr) return;
    if (!model->has_mig()) {
        report.add("MIG004", value.key->mark,
                   "the pod asks for " + value.name + " on " + std::string(model->name) +
                       ", which has no MIG");
    } else if (model->has_known_mig() && catalog::find_mig_profile(*model, profile) == nullptr &&
               memory) {
        report.add("MIG002", value.key->mark,
                   std::string(model->name) + " has no MIG profile '" + std::string(profile) + "'");
    }
}

/// Models with MIG that the text names.
std::vector<const GpuModel*> models_of(const File& file) {
    std::vector<const GpuModel*> models;
    for (const Statement& statement : file.statements) {
        for (const GpuModel* model : gpu_models_in(statement.text)) {
            if (!model->has_known_mig()) continue;
            if (std::find(models.begin(), models.end(), model) == models.end())
                models.push_back(model);
        }
    }
    return models;
}

/// "3g.40gb" in a text about the A100 with 40 GB and with 80 GB.
void check_named_models(const std::vector<const GpuModel*>& models, const ResourceValue& value,
                        std::string_view profile, Report& report) {
    const GpuModel* without = nullptr;
    const GpuModel* with = nullptr;
    for (const GpuModel* model : models) {
        (catalog::find_mig_profile(*model, profile) == nullptr ? without : with) = model;
    }
    if (without == nullptr || with == nullptr) return;
    const auto product = [](const GpuModel& model) {
        return model.mig_family.substr(0, model.mig_family.find('-'));
    };
    if (product(*without) != product(*with)) return;
    report
        .add("MIG002", value.key->mark,
             "the profile " + std::string(profile) + " exists on " + std::string(with->name) +
                 ", not on " + std::string(without->name) + ", which this text names too")
        .severity(Severity::kInfo);
}

void check_created(const File& file, const ResourceValue& value, std::string_view profile,
                   const std::set<std::string, std::less<>>& created, Report& report) {
    if (created.empty() || file.mentions("mig-parted") || file.mentions("mig.config")) return;
    for (const std::string_view family : mig_families()) {
        const auto* wanted = find_in_family(family, profile);
        if (wanted == nullptr) continue;
        for (const std::string& word : created) {
            if (find_in_family(family, word) == wanted) return;
        }
    }
    std::string words = join(created, ",");
    std::string makes;
    for (const std::string& word : created) {
        for (const std::string_view family : mig_families()) {
            const auto* made = find_in_family(family, word);
            if (made == nullptr || makes.find(made->name) != std::string::npos) continue;
            if (!makes.empty()) makes += " or ";
            makes += made->name;
            if (makes.size() > 30) break;
        }
    }
    report.add("MIG006", value.key->mark,
               "the pod asks for " + value.name + ", but the commands here make the instances " +
                   words + ": " + makes);
}

void check_whole_gpu(const File& file, const PodSpec& pod, Report& report) {
    const GpuNeed need = gpu_need(pod);
    if (need.value == nullptr || need.value->name != "nvidia.com/gpu") return;
    if (pod.node_selector == nullptr) return;
    const Value* config = pod.node_selector->find("nvidia.com/mig.config");
    if (config == nullptr || !config->scalar.starts_with("all-") ||
        config->scalar == "all-disabled" || config->scalar == "all-enabled") {
        return;
    }
    const auto strategies = mig_strategies(file);
    const bool mixed = std::any_of(strategies.begin(), strategies.end(),
                                   [](const MigStrategy& one) { return one.word == "mixed"; });
    if (!mixed) return;
    report.add(
        "MIG009", need.value->key->mark,
        "under the mixed strategy a node with " + config->scalar + " offers no nvidia.com/gpu");
}

}  // namespace

void check_mig_pods(const File& file, const Facts* facts, Report& report) {
    std::set<std::string, std::less<>> created;
    for (const Command& command : file.commands) {
        if (!command.is("nvidia-smi")) continue;
        for (std::string& word : created_instances(command)) created.insert(std::move(word));
    }
    const auto models = file.is_prose() ? models_of(file) : std::vector<const GpuModel*>{};
    bool can = facts == nullptr || facts->nodes.empty();
    if (!can) {
        for (const NodeFacts& node : facts->nodes) {
            const auto* model = catalog::find_gpu_model(node.gpu_product);
            can = can || (!node.gpu_product.empty() && (model == nullptr || model->has_mig()));
        }
    }
    NamedModels told(file);
    for (const PodSpec& pod : file.pods) {
        check_whole_gpu(file, pod, report);
        for (const Container& container : pod.containers) {
            const ResourceValue* gpu = container.gpu();
            if (gpu == nullptr) continue;
            const std::string_view profile = k8s::mig_profile(gpu->name);
            if (profile.empty()) continue;
            check_profile(pod, *gpu, profile, report);
            if (file.is_prose() && pinned_model(pod).model == nullptr) {
                check_told_model(file, pod, *gpu, told, report);
            }
            check_created(file, *gpu, profile, created, report);
            check_named_models(models, *gpu, profile, report);
            if (!can) {
                report.add(
                    "MIG004", gpu->key->mark,
                    "no node of the cluster has a GPU with MIG, which " + gpu->name + " needs");
            }
            if (gpu->amount && *gpu->amount > 1) {
                report
                    .add("MIG010", gpu->key->mark,
                         "container " + container.name + " gets " + gpu->text +
                             " MIG devices; a CUDA program uses only the first")
                    .severity(Severity::kInfo);
            }
        }
    }
}

namespace {

bool says_from(std::string_view text, std::string_view model) {
    std::size_t at = 0;
    const std::string folded = lower(text);
    while ((at = folded.find(model, at)) != std::string::npos) {
        const std::string_view rest = std::string_view(folded).substr(at + model.size());
        const bool begins =
            at == 0 || std::isalnum(static_cast<unsigned char>(folded[at - 1])) == 0;
        at += model.size();
        if (!begins) continue;
        for (const std::string_view tail :
             {"+", " or higher", " or newer", " or above", " or later", " and higher", " and newer",
              " and above", " and later"}) {
            if (!rest.starts_with(tail)) continue;
            // "A100+MIG_off": a pair, not a range
            const bool joins = tail == "+" && rest.size() > 1 &&
                               std::isalnum(static_cast<unsigned char>(rest[1])) != 0;
            if (!joins) return true;
        }
    }
    return false;
}

/// "2x 8GB": the sizes of slices that a text about one model gives.
void check_slices(const Statement& statement, const GpuModel& model, Report& report) {
    const std::string text = lower(statement.text);
    if (text.find("slice") == std::string::npos && text.find("instance") == std::string::npos &&
        text.find("partition") == std::string::npos) {
        return;
    }
    for (std::size_t x = 1; x + 1 < text.size(); ++x) {
        if (text[x] != 'x' || std::isdigit(static_cast<unsigned char>(text[x - 1])) == 0) continue;
        std::size_t i = x + 1;
        while (i < text.size() && text[i] == ' ') ++i;
        unsigned size = 0;
        const std::size_t digits = i;
        while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0 &&
               size < 10'000) {
            size = size * 10 + static_cast<unsigned>(text[i++] - '0');
        }
        while (i < text.size() && text[i] == ' ') ++i;
        if (digits == i || text.compare(i, 2, "gb") != 0) continue;
        std::string sizes;
        bool known = false;
        for (const catalog::MigProfile& profile : catalog::mig_profiles(model)) {
            const auto dot = profile.name.find('.');
            const std::string_view memory = profile.name.substr(dot + 1);
            if (memory.find('+') != std::string_view::npos) continue;
            known = known || memory == std::to_string(size) + "gb";
            sizes += (sizes.empty() ? "" : ", ") + std::string(profile.name);
        }
        if (known || sizes.empty()) continue;
        report.add("MIG011", statement.mark,
                   std::string(model.name) + " has no MIG slice of " + std::to_string(size) +
                       " GB; it has " + sizes);
        return;
    }
}

/// "A100, A30, H100 only": the GPUs after Hopper's first have MIG, too.
void check_list_of_models(const Statement& statement, Report& report) {
    if (statement.kind == Statement::Kind::kHeading || !contains_word(statement.text, "only")) {
        return;
    }
    for (const std::string_view newer :
         {"h200", "b200", "gb200", "gh200", "blackwell", "h20", "pro 6000", "b300", "not only"}) {
        if (contains(statement.text, newer)) return;
    }
    const std::string folded = lower(statement.text);
    const bool both = contains_word(folded, "a100") && contains_word(folded, "h100");
    const auto only = folded.find("only");
    const auto list = std::max(folded.rfind("a100", only), folded.rfind("h100", only));
    constexpr std::size_t kNear = 24;  // the word is about the list
    const bool near = only != std::string::npos && list != std::string::npos && list < only &&
                      only - list < kNear && folded.find(',', list) > only;
    const bool before = folded.find("only on") != std::string::npos ||
                        folded.find("only supported on") != std::string::npos ||
                        folded.find("only available on") != std::string::npos;
    if (!both || (!near && !before)) return;
    report
        .add("DOC001", statement.mark,
             "MIG is not on these models alone: H200, B200, GB200, RTX PRO 6000 and others have it")
        .expected("\"A100, A30, H100 and newer data-centre GPUs that list MIG\"");
}

}  // namespace

void check_mig_statements(const File& file, Report& report) {
    if (!file.is_prose()) return;
    for (const Statement& statement : file.statements) {
        const bool about = contains_word(statement.text, "mig") ||
                           contains(statement.text, "multi-instance") ||
                           contains_word(file.heading_path(statement.heading), "mig");
        if (!about) continue;
        check_list_of_models(statement, report);
        for (const std::string_view model : {"a30", "a100", "a10", "ampere"}) {
            if (!says_from(statement.text, model) || model == "ampere") continue;
            report.add(
                "MIG008", statement.mark,
                "'" +
                    std::string(model == "a30"    ? "A30"
                                : model == "a100" ? "A100"
                                                  : "A10") +
                    " or higher' is not a rule for MIG: A40, A10, A16, L4 and L40S have none");
            break;
        }
        std::vector<const GpuModel*> models = gpu_models_in(statement.text);
        for (int heading = statement.heading; models.empty() && heading >= 0;) {
            const auto at = static_cast<std::size_t>(heading);
            if (at >= file.headings.size()) break;
            models = gpu_models_in(file.headings[at].text);
            heading = file.headings[at].parent;
        }
        if (models.size() == 1 && models.front()->has_mig()) {
            check_slices(statement, *models.front(), report);
        }
    }
}

}  // namespace aliquot::lint
