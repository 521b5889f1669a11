// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace aliquot::bundle {

/// Whether what has this name (a key, a flag, a variable, a header, a parameter) is a secret, as far as
/// a name can tell: "DB_PASS", "dbPass", "X-Amz-Signature", "AccountKey", "client-key-data". Words that
/// only look so are known: "max_tokens", "secretName", "topologyKey", "--authorization-mode".
bool is_secret_name(std::string_view name);

/// Environment variables whose values say what is wrong with a GPU and nothing of their owner.
bool tells_of_gpus(std::string_view variable);

/// Headers of HTTP whose values are nobody's.
bool is_harmless_header(std::string_view name);

/// Parameters of a URL likewise.
bool is_harmless_parameter(std::string_view name);

}  // namespace aliquot::bundle
