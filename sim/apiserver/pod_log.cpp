// SPDX-License-Identifier: Apache-2.0
// GET of a pod's log.
#include <algorithm>

#include "base/number.h"
#include "base/text.h"
#include "sim/apiserver/server_context.h"

namespace aliquot::sim::apiserver {

namespace {

/// The container that is meant; a Failure when that is not clear.
Outcome<std::string> wanted_container(const Call& call, const Value& spec) {
    std::vector<std::string> names;
    std::vector<std::string> all;
    for (const char* list : {"containers", "initContainers", "ephemeralContainers"}) {
        for (const Value& one : spec.at(list).items()) {
            if (std::string_view(list) == "containers") names.push_back(one.at("name").text());
            all.push_back(one.at("name").text());
        }
    }
    const std::string given(call.http.parameter("container"));
    if (given.empty()) {
        if (names.size() == 1) return names[0];
        return bad_request("a container name must be specified for pod " + call.name +
                           ", choose one of: [" + join(names, " ") + "]");
    }
    if (std::ranges::find(all, given) != all.end()) return given;
    return bad_request("container " + given + " is not valid for pod " + call.name);
}

std::string last_lines(const std::string& text, std::int64_t count) {
    std::size_t at = text.size();
    if (text.ends_with('\n')) --at;
    for (; count > 0 && at != std::string::npos; --count) {
        if (at == 0) return text;
        at = text.rfind('\n', at - 1);
    }
    return at == std::string::npos ? text : text.substr(std::min(at + 1, text.size()));
}

}  // namespace

HttpAnswer read_log(const Call& call) {
    const EntryPtr pod = call.context.store.get("/pods", call.key());
    if (pod == nullptr) return answer_failure(not_found("pods", "", call.name));
    const auto container = wanted_container(call, pod->object.at("spec"));
    if (!container) return answer_failure(container.failure());
    if (call.http.flag("previous")) {
        return answer_failure(bad_request("previous terminated container \"" + *container +
                                          "\" in pod \"" + call.name + "\" not found"));
    }
    auto text = call.context.logs.get(call.key(), *container);
    if (!text) {
        return answer_failure(bad_request("container \"" + *container + "\" in pod \"" + call.name +
                                          "\" is waiting to start: no log is stored for it"));
    }
    const auto number = [&](std::string_view name) {
        return parse_number<std::int64_t>(call.http.parameter(name)).value_or(-1);
    };
    if (const auto lines = number("tailLines"); lines >= 0) *text = last_lines(*text, lines);
    if (const auto most = number("limitBytes"); most > 0) {
        text->resize(std::min(text->size(), static_cast<std::size_t>(most)));
    }
    HttpAnswer answer;
    answer.content_type = "text/plain";
    answer.body = std::move(*text);
    return answer;
}

}  // namespace aliquot::sim::apiserver
