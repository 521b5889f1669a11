// SPDX-License-Identifier: Apache-2.0
// Any bytes as what kube-scheduler asks an extender: an answer that is JSON, whose nodes were asked about.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "controller/extender.h"

namespace {

using Json = nlohmann::json;
using aliquot::controller::Extender;
using aliquot::controller::SharedBooks;

Extender& extender() {
    static SharedBooks books{aliquot::scheduling::Books::Options{}};
    static Extender made({.books = books, .is_synced = [] { return true; }}, {"s"});
    static const bool kFilled = [] {
        aliquot::scheduling::ServedNode node{.name = "a", .is_open = true};
        node.gpus = {{"GPU-1", {{"nvidia.com/gpu", 2}}}};
        books->set_node(std::move(node));
        return true;
    }();
    (void)kFilled;
    return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    aliquot::http::Request request;
    request.body.assign(reinterpret_cast<const char*>(data), size);
    request.peer_name = "s";
    const auto filtered = extender().filter(request);
    const Json answer = Json::parse(filtered.body);
    const auto ordered = extender().prioritize(request);
    const bool is_question = answer["Error"].get<std::string>().empty();
    if (is_question != (ordered.status == 200)) std::abort();
    if (!is_question) return 0;
    const Json asked = Json::parse(request.body)["NodeNames"];
    if (Json::parse(ordered.body).size() != asked.size()) std::abort();
    if (answer["NodeNames"].size() > asked.size()) std::abort();
    return 0;
}
