// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "detect/vocabulary.h"

namespace aliquot::detect {

/// A phrase of the table found in the text.
struct Match {
    std::uint32_t begin = 0;  // bytes
    std::uint32_t end = 0;
    std::uint32_t first = 0;  // token numbers
    std::uint32_t last = 0;
    std::uint32_t sentence = 0;
    PatternId pattern = kNoPattern;
    bool comment = false;
    bool spoken_of = false;  // inside a command or manifest that only speaks of GPUs
    const Row* row = nullptr;
};

/// The matches of one text, in order, and what lies around one of them. Every look goes a bounded
/// number of tokens far.
class Surroundings {
public:
    Surroundings(std::string_view text, std::span<const Match> matches)
        : text_(text), matches_(matches) {}

    /// The topics within `reach` tokens of match `at`, its own left out.
    [[nodiscard]] std::uint32_t topics(std::size_t at, std::uint32_t reach,
                                       bool same_sentence) const;
    /// How many matches of its sentence within `reach` tokens have one of the topics.
    [[nodiscard]] unsigned count(std::size_t at, std::uint32_t reach, std::uint32_t topics) const;
    /// Is match `at` denied: "no GPU", "GPU is not needed"; but not "impossible without a GPU"?
    [[nodiscard]] bool negated(std::size_t at) const;
    /// The same by the words before it alone: "nice to have, not needed" is no denial.
    [[nodiscard]] bool denied_before(std::size_t at) const;
    /// Does its sentence speak of match `at` as a subject: a dashboard, an article, a price list?
    [[nodiscard]] bool meta(std::size_t at) const;
    /// Does the text begin with such a word?
    [[nodiscard]] bool starts_meta() const;

private:
    [[nodiscard]] bool denies(std::size_t cue, std::size_t at, bool past_preposition,
                              bool& settled) const;
    [[nodiscard]] bool denied_behind(std::size_t at) const;
    [[nodiscard]] bool unreal(std::size_t at) const;
    [[nodiscard]] bool carried(std::size_t at) const;
    [[nodiscard]] bool is_verb(std::size_t at) const;
    [[nodiscard]] bool is_data(std::size_t at) const;
    [[nodiscard]] bool is_past(std::size_t verb) const;
    [[nodiscard]] bool subject_denies(std::size_t cue, std::size_t at) const;
    [[nodiscard]] bool slow_near(std::size_t cue, std::size_t at) const;
    [[nodiscard]] bool headed_by_action(std::size_t at) const;

    std::string_view text_;
    std::span<const Match> matches_;
};

/// Is byte `end` in a question that the next words answer with no: "Needs a GPU? No."
bool answered_no(std::string_view text, std::size_t end);

/// Does the name that ends at `end` go on as that of a CPU build: "image:1.2-cpu", "torch-2.1+cpu"?
bool goes_on_as_cpu_build(std::string_view text, std::size_t end);

/// Marks what lies in a command or a manifest that only speaks of GPUs.
///
/// marked   the matches that say something of the text as a whole
void mark_spoken_of(std::string_view text, std::span<Match> matches,
                    std::span<const std::uint32_t> marked);

/// What stands behind a switch.
struct Value {
    enum class Form : std::uint8_t { kNone, kOff, kOn, kNumber, kList };
    Form form = Form::kNone;
    unsigned number = 0;
};

/// What a weight becomes by the value of a switch.
struct Weighed {
    Scope scope = Scope::kPlain;
    double weight = 0;
};

/// Switches, resource names, device lists: `use_gpu: false`, `nvidia.com/gpu: 2`.
Weighed weigh_value(std::string_view text, const Match& match, double weight);

/// Reads `: 2`, `=0`, ` "false"` behind byte `end`. A blank alone parts only a flag from its value.
Value value_behind(std::string_view text, std::size_t end, bool is_flag);

}  // namespace aliquot::detect
