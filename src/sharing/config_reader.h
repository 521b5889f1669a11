// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/nearest_word.h"
#include "document/yaml.h"
#include "findings/finding.h"
#include "sharing/config.h"
#include "sharing/config_rules.h"

/// What the readers of the single parts of a configuration have in common. Inside src/sharing only.
namespace aliquot::sharing {

using document::Mark;
using document::Value;

/// What goes with a complaint.
struct Advice {
    std::string expected;
    std::string fix;
};

/// Collects findings for one file in one mode.
class Reader {
public:
    Reader(std::string_view file, Compatibility compatibility)
        : file_(file), strict_(compatibility == Compatibility::kStrict) {}

    [[nodiscard]] bool strict() const { return strict_; }

    void error(Mark mark, std::string_view rule, std::string message, Advice advice = {});
    void warning(Mark mark, std::string_view rule, std::string message, Advice advice = {});
    void info(Mark mark, std::string_view rule, std::string message, Advice advice = {});
    /// Where NVIDIA's plugin passes over something in silence: an error in strict mode, else a
    /// warning whose message ends with what that plugin does: "NVIDIA's plugin <does>".
    void refuse(Mark mark, std::string_view rule, std::string message, std::string_view does,
                Advice advice = {});

    /// The root of the configuration that is being read, for corrected(); null: none.
    void set_root(const Value* root);
    [[nodiscard]] const Value* root() const { return root_; }
    /// The whole `sharing:` block as it should be: corrected_sharing() of the root, or nothing.
    const std::string& corrected();

    /// Whether so much was found already that nothing more is worth looking for.
    [[nodiscard]] bool full() const;

    [[nodiscard]] bool failed() const { return findings::has_errors(findings_); }
    std::vector<findings::Finding> take_findings();

private:
    void report(Mark mark, std::string_view rule, findings::Severity severity, std::string message,
                Advice advice);

    std::string file_;
    bool strict_;
    std::vector<findings::Finding> findings_;
    const Value* root_ = nullptr;
    std::optional<std::string> corrected_;
};

/// One mapping of the schema.
struct Section {
    std::string_view path;  // "sharing.timeSlicing"; empty: the root
    std::span<const std::string_view> keys;
    bool any_case = false;  // NVIDIA's plugin takes these keys in any letter case
};

/// The sections of the schema, outermost first. Entries of lists have the path "....resources[]".
std::span<const Section> sections();
const Section& section(std::string_view path);

/// The values of one mapping by their known keys.
class Fields {
public:
    struct Field {
        Mark key;
        const Value* value = nullptr;
    };
    /// nullptr: not there, or there without a value (`key:`).
    [[nodiscard]] const Value* find(std::string_view key) const;
    [[nodiscard]] bool has(std::string_view key) const { return fields_.count(key) != 0; }
    [[nodiscard]] Mark key_mark(std::string_view key) const;
    [[nodiscard]] std::string path_of(std::string_view key) const;

    std::string path;  // where this mapping stands: "sharing.timeSlicing.resources[0]"
    Mark mark;
    std::map<std::string_view, Field> fields_;
};

/// Sorts the entries of a mapping and complains about keys that are unknown, misplaced, in the
/// wrong letter case or there twice. Empty when `node` is no mapping (complained about); a kNull
/// node has no fields.
/// path   the path with indices, when it differs from the section's
std::optional<Fields> read_section(Reader& reader, const Value& node, const Section& section,
                                   std::string_view path);

/// Typed values. Empty: not there, or wrong (complained about).
std::optional<bool> read_bool(Reader& reader, const Fields& fields, std::string_view key);
std::optional<std::string> read_text(Reader& reader, const Fields& fields, std::string_view key);
std::optional<std::string> read_path(Reader& reader, const Fields& fields, std::string_view key);

/// A whole number of an int or a text with nothing but digits in it (`allow_text`).
std::optional<std::int64_t> integer_of(const Value& node, bool strict);

/// One of a few words: the index into `words`.
std::optional<std::size_t> read_word(Reader& reader, const Fields& fields, std::string_view key,
                                     std::span<const std::string_view> words);
std::optional<std::size_t> word_of(Reader& reader, const Value& node, std::string_view path,
                                   std::span<const std::string_view> words);

void complain_type(Reader& reader, const Value& node, std::string_view path,
                   std::string_view expected, std::string fix);

/// "a, b or c".
std::string join_words(std::span<const std::string_view> words);

/// The value of the first key with these letters, in any case.
const Value* find_any_case(const Value& mapping, std::string_view key);

/// The whole `sharing:` block as it should be, with the values that stand anywhere in `root`.
std::string corrected_sharing(const Value& root);

/// `key: value` below all the keys of `path`, as YAML.
std::string nested(std::string_view path, std::string_view key, const Value& value);

/// Go's duration syntax, "1m30s", in nanoseconds. Empty: none, or above 292 years.
std::optional<std::int64_t> parse_go_duration(std::string_view text);

/// "nvidia.com/gpu" from "gpu" or "nvidia.com/gpu".
struct ResourceName {
    std::string name;
    std::string problem;  // empty: it is well formed
};
ResourceName parse_resource_name(std::string_view text);

// The parts of a configuration.
Flags read_flags(Reader& reader, const Value& node);
Sharing read_sharing(Reader& reader, const Value& node, const Flags& flags);
std::optional<SharedResource> read_shared_resource(Reader& reader, const Value& node,
                                                   const std::string& path,
                                                   grant::Mechanism mechanism, const Flags& flags);
std::optional<DeviceSelector> read_devices(Reader& reader, const Fields& fields);
/// Complains about entries that cannot match since earlier ones of the list take all they want.
void find_shadowed(Reader& reader, const std::vector<SharedResource>& resources,
                   std::string_view path);
void read_root_resources(Reader& reader, const Value& node);

/// What one configuration may have: a ConfigMap cannot hold more bytes either, and while so many
/// values are read they take 11 MB, which the agent has beside its work (50'000 would take 45).
inline constexpr document::Limits kConfigLimits{.bytes = 1U << 20U, .nodes = 10'000};

/// Reads a configuration whose YAML has been read: the documents of a file or a ConfigMap value.
std::optional<Config> read_documents(Reader& reader, const std::vector<Value>& documents);

}  // namespace aliquot::sharing
