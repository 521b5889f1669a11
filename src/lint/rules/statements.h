// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/gpu_models.h"
#include "lint/families.h"

/// The parts of the family of statements. Inside src/lint only.
///
/// A statement is judged by the words that stand in it and by the headings above it, with tables of
/// facts; never by a whole sentence. One that says "not" is not judged.
namespace aliquot::lint {

/// A GPU named in a text: all variants that the name may stand for ("A100": 40 and 80 GB, ...).
struct NamedGpu {
    std::string_view base;  // "a100"
    std::size_t begin = 0;  // of the text
    std::size_t end = 0;
    std::vector<const catalog::GpuModel*> models;  // never empty

    [[nodiscard]] bool has_mig() const;
};

/// The GPUs of a text in its order. Two-character names (A2, L4, T4) count where the text, or what
/// is around it, is about NVIDIA or GPUs.
enum class Topic : std::uint8_t { kGpus, kUnknown };
std::vector<NamedGpu> named_gpus(std::string_view text, Topic topic);

/// It takes back what it says, or says it of something else: not, no, never, unlike, instead, ...
bool is_negated(std::string_view text);
/// Any of the words, ignoring case.
bool contains_any(std::string_view text, std::span<const std::string_view> words);

void check_gpu_facts(const File& file, Report& report);            // DOC001
void check_causes(const File& file, Report& report);               // DOC002
void check_memory_advice(const File& file, Report& report);        // DOC003, DOC006
void check_promises_of_sharing(const File& file, Report& report);  // DOC001, DOC004, DOC005, DOC008
void check_versions(const File& file, Report& report);             // DOC007

}  // namespace aliquot::lint
