// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/selector.h"

#include <algorithm>
#include <map>

#include "sim/apiserver/names.h"
#include "sim/apiserver/words.h"

namespace aliquot::sim::apiserver {

namespace {

using Operator = Requirement::Operator;

class SelectorReader {
public:
    explicit SelectorReader(std::string_view text) : text_(text) {}

    Result<Selector> read() {
        Selector selector;
        blanks();
        if (at_ == text_.size()) return selector;
        while (true) {
            auto one = requirement();
            if (!one) return std::move(one).error();
            selector.push_back(std::move(*one));
            blanks();
            if (at_ == text_.size()) return selector;
            if (text_[at_] != ',') return fail("expected ',' or the end");
            ++at_;
        }
    }

private:
    Error fail(std::string_view why) const {
        return {ErrorCode::kInvalidInput, "unable to parse requirement: " + std::string(why) +
                                              ", found '" + std::string(text_.substr(at_, 40)) +
                                              "'"};
    }

    void blanks() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    }

    std::string_view word() {
        blanks();
        const std::size_t start = at_;
        while (at_ < text_.size() &&
               std::string_view("=!,()<> \t").find(text_[at_]) == std::string_view::npos) {
            ++at_;
        }
        return text_.substr(start, at_ - start);
    }

    bool take(std::string_view sign) {
        blanks();
        if (!text_.substr(at_).starts_with(sign)) return false;
        at_ += sign.size();
        return true;
    }

    Result<Requirement> requirement() {
        Requirement made;
        const bool negated = take("!");
        made.key = word();
        if (const std::string why = check_label_key(made.key); !why.empty()) {
            return Error{
                ErrorCode::kInvalidInput,
                "unable to parse requirement: key: Invalid value: \"" + made.key + "\": " + why};
        }
        if (negated) {
            made.op = Operator::kDoesNotExist;
            return made;
        }
        blanks();
        if (at_ == text_.size() || text_[at_] == ',') return made;
        if (take("==") || take("=")) return single(std::move(made), Operator::kIn);
        if (take("!=")) return single(std::move(made), Operator::kNotIn);
        if (take(">")) return number(std::move(made), Operator::kGreater);
        if (take("<")) return number(std::move(made), Operator::kLess);
        const std::string_view keyword = word();
        if (keyword == "in") return several(std::move(made), Operator::kIn);
        if (keyword == "notin") return several(std::move(made), Operator::kNotIn);
        at_ -= keyword.size();
        return fail("expected an operator (=, ==, !=, in, notin, >, <)");
    }

    Result<Requirement> checked(Requirement made) const {
        for (const std::string& value : made.values) {
            if (const std::string why = check_label_value(value); !why.empty()) {
                return Error{ErrorCode::kInvalidInput, "unable to parse requirement: values[0][" +
                                                           made.key + "]: Invalid value: \"" +
                                                           value + "\": " + why};
            }
        }
        return made;
    }

    Result<Requirement> single(Requirement made, Operator op) {
        made.op = op;
        made.values.emplace_back(word());
        return checked(std::move(made));
    }

    Result<Requirement> number(Requirement made, Operator op) {
        made.op = op;
        made.values.emplace_back(word());
        if (!parse_integer(made.values[0])) return fail("expected an integer behind > or <");
        return made;
    }

    Result<Requirement> several(Requirement made, Operator op) {
        made.op = op;
        if (!take("(")) return fail("expected '('");
        while (true) {
            made.values.emplace_back(word());
            if (take(")")) return checked(std::move(made));
            if (!take(",")) return fail("expected ',' or ')'");
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

bool holds(const Requirement& one, const std::string* value) {
    switch (one.op) {
        case Operator::kExists:
            return value != nullptr;
        case Operator::kDoesNotExist:
            return value == nullptr;
        case Operator::kIn:
            return value != nullptr && std::ranges::find(one.values, *value) != one.values.end();
        case Operator::kNotIn:
            return value == nullptr || std::ranges::find(one.values, *value) == one.values.end();
        case Operator::kGreater:
        case Operator::kLess: {
            const auto have = value == nullptr ? std::nullopt : parse_integer(*value);
            const auto bound = parse_integer(one.values.empty() ? "" : one.values[0]);
            if (!have || !bound) return false;
            return one.op == Operator::kGreater ? *have > *bound : *have < *bound;
        }
    }
    return false;
}

const std::map<std::string_view, std::vector<std::string_view>> kSelectable = {
    {"/pods",
     {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
      "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName"}},
    {"/nodes", {"spec.unschedulable"}},
    {"/namespaces", {"status.phase"}},
    {"/secrets", {"type"}},
    {"/services", {"spec.clusterIP", "spec.type"}},
    {"/replicationcontrollers", {"status.replicas"}},
    {"/events",
     {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
      "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion",
      "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type",
      "regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid",
      "regarding.apiVersion", "reportingController"}},
    {"batch/jobs", {"status.successful"}},
    {"apps/replicasets", {"status.replicas"}},
    {"certificates.k8s.io/certificatesigningrequests", {"spec.signerName"}},
    {"resource.k8s.io/resourceslices", {"spec.driver", "spec.nodeName"}}};

std::string spelled(const Value& value) {
    if (value.is_string()) return value.text();
    return value.is_null() ? "" : to_json(value);
}

std::string field_of(const Resource& resource, const Value& object, std::string_view field) {
    const Value& value = object.at_path(field);
    if (resource.storage == "/events") {
        if (field == "source") return object.at_path("source.component").text();
        if (field.starts_with("regarding.") && value.is_null()) {
            return spelled(object.at("involvedObject").at(field.substr(10)));
        }
        if (field == "reportingController" && value.is_null()) {
            return object.at("reportingComponent").text();
        }
    }
    if (value.is_null() && (field == "spec.unschedulable" || field == "spec.hostNetwork")) {
        return "false";
    }
    if (value.is_null() && field == "status.replicas") return "0";
    return spelled(value);
}

}  // namespace

Result<Selector> parse_label_selector(std::string_view text) { return SelectorReader(text).read(); }

Result<Selector> parse_field_selector(std::string_view text) {
    Selector selector;
    for (const std::string_view term : split(text, ',')) {
        if (term.empty()) continue;
        const std::size_t equals = term.find('=');
        if (equals == std::string_view::npos || equals == 0) {
            return Error{ErrorCode::kInvalidInput, "invalid selector: '" + std::string(term) +
                                                       "'; can't understand '" + std::string(term) +
                                                       "'"};
        }
        Requirement one;
        const bool negated = term[equals - 1] == '!';
        one.op = negated ? Operator::kNotIn : Operator::kIn;
        one.key = term.substr(0, negated ? equals - 1 : equals);
        std::string_view value = term.substr(equals + 1);
        if (!negated && value.starts_with('=')) value.remove_prefix(1);
        one.values.emplace_back(value);
        selector.push_back(std::move(one));
    }
    return selector;
}

Selector read_label_selector(const Value& selector) {
    Selector made;
    for (const Member& label : selector.at("matchLabels").members()) {
        made.push_back({label.name, Operator::kIn, {label.value.text()}});
    }
    for (const Value& expression : selector.at("matchExpressions").items()) {
        Requirement one;
        one.key = expression.at("key").text();
        const std::string& op = expression.at("operator").text();
        one.op = op == "In"             ? Operator::kIn
                 : op == "NotIn"        ? Operator::kNotIn
                 : op == "DoesNotExist" ? Operator::kDoesNotExist
                                        : Operator::kExists;
        for (const Value& value : expression.at("values").items())
            one.values.push_back(value.text());
        made.push_back(std::move(one));
    }
    return made;
}

bool matches_labels(const Selector& selector, const Value& labels) {
    return std::ranges::all_of(selector, [&](const Requirement& one) {
        const Value* value = labels.find(one.key);
        return holds(one, value == nullptr ? nullptr : &value->text());
    });
}

bool is_selectable(const Resource& resource, std::string_view field) {
    if (field == "metadata.name") return true;
    if (field == "metadata.namespace") return resource.namespaced;
    if (std::ranges::find(resource.selectable_fields, field) != resource.selectable_fields.end()) {
        return true;
    }
    const auto known = kSelectable.find(resource.storage);
    return known != kSelectable.end() &&
           std::ranges::find(known->second, field) != known->second.end();
}

bool matches_fields(const Selector& selector, const Resource& resource, const Value& object) {
    return std::ranges::all_of(selector, [&](const Requirement& one) {
        const std::string value = field_of(resource, object, one.key);
        return holds(one, &value);
    });
}

}  // namespace aliquot::sim::apiserver
