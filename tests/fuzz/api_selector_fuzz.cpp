// SPDX-License-Identifier: Apache-2.0
// Any bytes as selectors, paths, amounts and JSONPaths: nothing crashes, and a selector is decided
// one way for the same labels.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "k8s/quantity.h"
#include "sim/apiserver/http.h"
#include "sim/apiserver/route.h"
#include "sim/apiserver/selector.h"
#include "sim/apiserver/table.h"

namespace {

using namespace aliquot::sim::apiserver;  // NOLINT

void expect(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const Value labels = Value::object({{"app", "web"}, {"tier", "back"}, {"n", "7"}});
    if (const auto selector = parse_label_selector(text)) {
        expect(matches_labels(*selector, labels) == matches_labels(*selector, labels));
    }
    static_cast<void>(bool(parse_field_selector(text)));
    if (const auto amount = aliquot::k8s::Quantity::parse_field(text)) {
        const std::string spelling = amount->canonical();
        const auto again = aliquot::k8s::Quantity::parse(spelling);
        expect(again && again->canonical() == spelling);
    }
    const HttpRequest request = read_request_target("GET", text);
    static_cast<void>(read_route(request.segments));
    static_cast<void>(find_json_path(labels, text));
    return 0;
}
