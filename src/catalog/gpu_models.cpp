// SPDX-License-Identifier: Apache-2.0
#include "catalog/gpu_models.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/nearest_word.h"
#include "base/text.h"
#include "catalog/embedded.h"
#include "catalog/table.h"

namespace aliquot::catalog {
namespace {

constexpr std::size_t kLongestName = 128;

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

constexpr std::string_view kLaptop = "laptop";

bool is_noise(std::string_view word) {
    constexpr std::array<std::string_view, 13> kNoise{
        "nvidia", "tesla",       "geforce", "gpu",  "gpus",    "graphics",  "card",
        "cards",  "corporation", "shared",  "cuda", "desktop", "generation"};
    return std::ranges::find(kNoise, word) != kNoise.end();
}

std::string_view without_unit(std::string_view word) {
    for (const std::string_view unit : {"gib", "gb", "g"}) {
        const bool ends = word.size() > unit.size() && word.ends_with(unit);
        if (!ends) continue;
        const auto number = word.substr(0, word.size() - unit.size());
        if (std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; })) return number;
    }
    return word;
}

/// A model and its spellings, plain.
struct Entry {
    std::vector<std::string> spellings;
};

struct Catalogue {
    std::vector<GpuModel> models;
    std::vector<Entry> entries;  // one for each model
    std::vector<std::string_view> keys;
};

GpuModel gpu_model_of(const std::vector<std::string_view>& row) {
    GpuModel model;
    model.key = row[0];
    model.name = row[1];
    model.aliases = list_of(row[2]);
    model.pci_ids = list_of(row[3]);
    model.architecture = row[4];
    model.compute = parse_version(row[5]).value_or(Version{});
    model.memory_gib = number_of(row[6]);
    model.gpus_per_board = count_of(row[7]);
    model.memory_mib = count_of(row[8]);
    model.mig_family = row[9];
    model.mps = row[10] == "limits" ? MpsClass::kLimits : MpsClass::kOld;
    model.nvlink = row[11];
    if (row[12].starts_with('R')) model.last_branch = count_of(row[12].substr(1));
    model.min_driver = row[13];
    model.tdp_watts = count_of(row[14]);
    model.cuda_cores = count_of(row[15]);
    model.tensor_cores = count_of(row[16]);
    return model;
}

const Catalogue& catalogue() {
    static const Catalogue kCatalogue = [] {
        Catalogue made;
        const auto table = read_table(kGpuModelTable);
        if (!table) return made;  // catalog_test holds the table to its form
        for (const auto& row : table->rows) {
            GpuModel model = gpu_model_of(row);
            Entry entry;
            entry.spellings.push_back(plain_gpu_name(model.key));
            entry.spellings.push_back(plain_gpu_name(model.name));
            for (const auto alias : model.aliases) {
                entry.spellings.push_back(plain_gpu_name(alias));
            }
            made.keys.push_back(model.key);
            made.models.push_back(std::move(model));
            made.entries.push_back(std::move(entry));
        }
        return made;
    }();
    return kCatalogue;
}

bool is_spelling(const Entry& entry, std::string_view plain) {
    return std::ranges::find(entry.spellings, plain) != entry.spellings.end();
}

/// "rtx309024" is rtx-3090 with its memory behind it.
bool is_spelling_with_memory(const Entry& entry, const GpuModel& model, std::string_view plain) {
    const std::string memory = std::to_string(std::lround(model.memory_gib));
    return plain.size() > memory.size() && plain.ends_with(memory) &&
           is_spelling(entry, plain.substr(0, plain.size() - memory.size()));
}

}  // namespace

std::string plain_gpu_name(std::string_view text) {
    std::string plain;
    std::string word;
    const auto take = [&plain, &word] {
        if (word == "mobile") word = kLaptop;
        if (!is_noise(word)) plain += without_unit(word);
        word.clear();
    };
    for (const char c : text.substr(0, kLongestName)) {
        const char small = lower(c);
        if (is_word(small)) {
            word += small;
        } else if (!word.empty()) {
            take();
        }
        if (small == '(') break;  // "NVIDIA A2 (UUID: ...)"
    }
    if (!word.empty()) take();
    return plain;
}

std::span<const GpuModel> gpu_models() { return catalogue().models; }

const GpuModel* find_gpu_model(std::string_view text) {
    const std::string plain = plain_gpu_name(text);
    if (plain.empty()) return nullptr;
    const Catalogue& all = catalogue();
    for (std::size_t i = 0; i < all.models.size(); ++i) {
        if (is_spelling(all.entries[i], plain)) return &all.models[i];
    }
    for (std::size_t i = 0; i < all.models.size(); ++i) {
        if (is_spelling_with_memory(all.entries[i], all.models[i], plain)) return &all.models[i];
    }
    // Up to Turing a laptop has the memory of the card of that name; later ones are in the table.
    const std::size_t laptop = plain.find(kLaptop);
    if (laptop == std::string::npos) return nullptr;
    const std::string desktop = plain.substr(0, laptop) + plain.substr(laptop + kLaptop.size());
    const GpuModel* const card = find_gpu_model(desktop);
    const bool same =
        card != nullptr && (card->architecture == "Pascal" || card->architecture == "Turing");
    return same ? card : nullptr;
}

const GpuModel* find_gpu_model(std::string_view text, unsigned memory_mib) {
    const GpuModel* const named = find_gpu_model(text);
    if (named == nullptr || memory_mib == 0) return named;
    // Variants of one model begin with the same word of the key: a100-40, a100-80.
    const std::string_view stem = named->key.substr(0, named->key.find('-'));
    constexpr double kMibPerGib = 1024;
    const double wanted = memory_mib / kMibPerGib;
    const GpuModel* best = named;
    for (const GpuModel& model : gpu_models()) {
        if (model.key != stem && !model.key.starts_with(std::string(stem) + "-")) continue;
        if (model.architecture != named->architecture || stem == "rtx" || stem == "gtx") continue;
        if (std::abs(model.memory_gib - wanted) < std::abs(best->memory_gib - wanted)) {
            best = &model;
        }
    }
    return best;
}

std::vector<const GpuModel*> gpu_models_with_pci_id(std::string_view id) {
    if (id.starts_with("0x") || id.starts_with("0X")) id.remove_prefix(2);
    constexpr std::size_t kDigits = 4;  // a longer one has the vendor behind the device
    id = id.substr(0, kDigits);
    std::vector<const GpuModel*> found;
    for (const GpuModel& model : gpu_models()) {
        const bool has = std::ranges::any_of(
            model.pci_ids, [id](std::string_view known) { return same_letters(known, id); });
        if (has) found.push_back(&model);
    }
    return found;
}

std::string_view nearest_gpu_model(std::string_view text) {
    const std::string plain = plain_gpu_name(text);
    const Catalogue& all = catalogue();
    // A family word alone ("rtx") is near to everything.
    std::vector<std::string_view> spellings;
    std::vector<std::string_view> keys;
    for (std::size_t i = 0; i < all.models.size(); ++i) {
        for (const std::string& spelling : all.entries[i].spellings) {
            spellings.push_back(spelling);
            keys.push_back(all.models[i].key);
        }
    }
    const std::string_view near = nearest_word(plain, spellings);
    if (near.empty()) return {};
    const auto at = std::ranges::find(spellings, near);
    return keys[static_cast<std::size_t>(at - spellings.begin())];
}

}  // namespace aliquot::catalog
