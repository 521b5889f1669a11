// SPDX-License-Identifier: Apache-2.0
#pragma once

// Only for the .cpp files of this folder that read streams: it brings simdjson.

#include <simdjson.h>

#include <string>
#include <string_view>

#include "kube_client/object.h"

namespace aliquot::kube_client {

/// What is read of an object on the way past it.
struct ObjectHead {
    Object object;  // without its json
    std::string_view raw;
    std::string_view kind;  // valid as long as the parser's document
    bool has_metadata = false;
    std::string_view managed_fields;  // `"managedFields":[...]` within raw; empty: none
};

simdjson::error_code read_head(simdjson::ondemand::object& source, ObjectHead& head);

/// `raw` without the field `part`, which lies in it, and without one comma beside that.
std::string without_field(std::string_view raw, std::string_view part);

/// A text with the room behind it that simdjson asks for. Keeps its memory.
class PaddedText {
public:
    simdjson::padded_string_view assign(std::string_view text) {
        bytes_.reserve(text.size() + simdjson::SIMDJSON_PADDING);
        bytes_.assign(text);
        return simdjson::padded_string_view(bytes_.data(), text.size(), bytes_.capacity());
    }

private:
    std::string bytes_;
};

}  // namespace aliquot::kube_client
