// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lint/object.h"

/// Forms of documents: which keys, types and values a document of a kind has. Compiled in and read
/// once: data/schema_forms.tsv, written from the schemas that the projects publish
/// (cmd/form-table), and over it data/document_forms.tsv, which has what no schema says.
namespace aliquot::lint {

/// What a value must be. Of the scalars form_values.h tells what they take.
enum class FormType : std::uint8_t {
    kAny,     // scalar, list or mapping; rows below it count for the one that stands there
    kOpen,    // a mapping whose keys are free; of those that it names a near miss is a mistake
    kMap,     // a mapping; a key that is nearly a known one is a mistake
    kClosed,  // a mapping that is refused with any other key
    kList,
    kScalar,    // any scalar
    kText,      // a string: a bare number or true is refused
    kWhole,     // a whole number, no quotes
    kCount,     // a whole number, quotes allowed
    kNumber,    // any number, no quotes
    kFlag,      // true or false
    kQuantity,  // "500m", "16Gi"
    kDuration,  // "1h30m"
    kPercent,   // a whole number or "10%"
    kCron,      // five fields, or @daily
    kZone,      // a name of the time zone database
    kPath,      // begins with /
    kShare,     // a whole number, or a percentage up to 100%
    kSpan,      // "1d12h", as Prometheus has it
    kBytes,     // "8gb", as docker has it
    kPorts,     // "127.0.0.1:8080:80/tcp", or the mapping of it
};

/// One place of a form.
struct FormNode {
    FormType type = FormType::kAny;
    /// Of a scalar: what may stand there: words, "1..8" for a range, "=" before the word that only a
    /// near miss of is a mistake. Of a mapping: more keys that it has.
    std::vector<std::string_view> values;
    bool full = false;  // of a mapping: all its keys are known
    bool required = false;
    bool needed = false;   // required, but left out where people show only a part
    bool warning = false;  // a mistake here is a warning
    std::vector<std::string_view> not_beside;  // keys that exclude it
    struct Condition {
        std::string_view key;  // of the same mapping
        std::vector<std::string_view> values;
        bool must = false;  // true: needed then; false: must not stand there then
    };
    std::vector<Condition> conditions;
    std::map<std::string_view, FormNode> keys;
    std::vector<FormNode> any;            // one or none: the form of every other key
    std::vector<FormNode> items;          // one or none: of a list
    std::string_view include;             // another form that it has besides
    std::vector<std::string_view> known;  // all its keys, for "did you mean"
};

/// The form of that name; nullptr: none.
const FormNode* find_form(std::string_view name);
/// The words of a form that is only a list of them, as the flags of a program; empty: no such form.
std::vector<std::string_view> words_of_form(std::string_view name);
/// The form of a document; nullptr: none that we know.
const FormNode* form_of(std::string_view file_name, const Object& object);

using Forms = std::map<std::string_view, FormNode, std::less<>>;
/// Takes tables of forms apart, the one of `more` over that of `text`: a row of it takes the place of
/// one of the same path. The forms point into both.
/// errors   kInvalidInput: no such table, a type that there is not
Result<Forms> read_forms(std::string_view text, std::string_view more = {});

/// Whether a mapping of that form, included parts too, has the key.
bool has_key(const FormNode& form, std::string_view key);

}  // namespace aliquot::lint
