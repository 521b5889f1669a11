// SPDX-License-Identifier: Apache-2.0
// Any bytes as an object, a newline, and a patch for it, in every kind of patch: nothing crashes, what
// comes out can be written and read again, and an applied configuration is found in the result.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/apiserver/decode.h"
#include "sim/apiserver/managed_fields.h"
#include "sim/apiserver/patch.h"

namespace {

using namespace aliquot::sim::apiserver;  // NOLINT

void expect(bool holds) {
    if (!holds) std::abort();
}

void check(const Value& value) {
    const auto again = parse_json(to_json(value));
    expect(again && again->value == value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::size_t line = text.find('\n');
    if (line == std::string_view::npos) return 0;
    const auto object = parse_json(text.substr(0, line));
    const auto patch = parse_json(text.substr(line + 1));
    if (!object || !patch) return 0;
    const Type& type = *TypeTable::built_in().find("core.v1.Pod");
    if (const auto made = apply_json_patch(object->value, patch->value)) check(*made);
    Value merged = object->value;
    apply_merge_patch(merged, patch->value);
    check(merged);
    if (const auto made = apply_strategic_patch(object->value, patch->value, type)) check(*made);
    check(decode_built_in(patch->value, type).value);
    const Value live = decode_built_in(object->value, type).value;
    const Value config = decode_built_in(patch->value, type).value;
    Manager manager;
    manager.name = "fuzz";
    manager.applies = true;
    const auto applied = apply_config(live, config, type, manager, true, "pods", "");
    if (applied) {
        check(*applied);
        const auto again = apply_config(*applied, config, type, manager, false, "pods", "");
        expect(bool(again) && same_but_managers(*applied, *again));
    }
    const auto difference = apply_json_patch(live, make_json_patch(live, config));
    expect(difference && *difference == config);
    return 0;
}
