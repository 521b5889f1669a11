// SPDX-License-Identifier: Apache-2.0
#include "base/json_value.h"

#include <nlohmann/json.hpp>

namespace aliquot {

template <class Json>
Json parse_json(std::string_view text) {
    return Json::parse(text, nullptr, false);
}

template <class Json>
std::string dumped(const Json& json, int indent) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

template nlohmann::json parse_json(std::string_view text);
template nlohmann::ordered_json parse_json(std::string_view text);
template std::string dumped(const nlohmann::json& json, int indent);
template std::string dumped(const nlohmann::ordered_json& json, int indent);

}  // namespace aliquot
