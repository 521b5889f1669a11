// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "sim/apiserver/selector.h"
#include "sim/apiserver/server_context.h"

namespace aliquot::sim::apiserver {

/// Where a list goes on: what stands in metadata.continue.
struct ContinueToken {
    std::uint64_t revision = 0;
    std::string next_key;
    std::chrono::system_clock::time_point made;
};
std::string make_token(const ContinueToken& token);
std::optional<ContinueToken> read_token(std::string_view text);

struct ListOptions {
    Selector labels, fields;
    std::uint64_t revision = 0;  // 0: any
    bool has_revision = false;
    bool exact = false;  // resourceVersionMatch=Exact
    std::size_t limit = 0;
    std::optional<ContinueToken> token;
    // Watches.
    bool bookmarks = false;
    bool initial_events = false;  // sendInitialEvents=true
    std::chrono::seconds timeout{0};
};

/// Selectors, limits and revisions of a list, watch or deletecollection.
Outcome<ListOptions> read_list_options(const Call& call);

/// The 410 for a continue token that is too old, with one for the inconsistent rest.
Failure expired_token(const Call& call, const ListOptions& options);

bool selects(const ListOptions& options, const Resource& resource, const Value& object);

/// What the Accept header asks for.
struct Acceptance {
    enum class Form : std::uint8_t { kObject, kMetadata, kTable };
    Form form = Form::kObject;
};
/// errors   406: nothing of it can be had
Outcome<Acceptance> read_acceptance(const HttpRequest& request, bool tables);

/// The object in the version and form that was asked for, as JSON.
void append_entry(std::string& out, const Entry& entry, const Resource& resource,
                  const Acceptance& wanted);
Value to_partial_metadata(const Value& object);

/// includeObject=Object|Metadata|None of table requests.
std::string include_object(const HttpRequest& request);

}  // namespace aliquot::sim::apiserver
