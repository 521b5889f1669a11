// SPDX-License-Identifier: Apache-2.0
// The own price file as YAML.
#include <algorithm>
#include <chrono>
#include <tuple>

#include "base/nearest_word.h"
#include "base/number.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/time_text.h"
#include "catalog/gpu_instances.h"
#include "catalog/gpu_models.h"
#include "cost/money.h"
#include "cost/price.h"
#include "document/yaml.h"
#include "pools/read_fields.h"

namespace aliquot::cost {
namespace {

using document::Value;
using pools::Fields;
using pools::Problem;

constexpr std::size_t kMostRules = 1'000;
constexpr std::size_t kMostSeen = 100'000;
constexpr std::size_t kMostBudgets = 1'000;
constexpr double kMostPurchase = 1e9;
constexpr double kMostYears = 50;
constexpr double kMostWatts = 1e6;
constexpr double kMostPerKwh = 1'000;
constexpr double kMostPue = 10;
constexpr double kMostGrams = 10'000;

std::optional<Micros> money_in(Fields& fields, std::string_view key) {
    const auto text = fields.text(key);
    if (!text) return std::nullopt;
    const auto amount = parse_money(*text);
    if (!amount) {
        fields.error(key, "'" + one_line(*text, 40) +
                              "' found, an amount from 0 to 1000000 with at most six decimals "
                              "expected");
    }
    return amount;
}

double decimal_in(Fields& fields, std::string_view key, double least, double most, double usual) {
    const auto text = fields.text(key);
    if (!text) return usual;
    const auto number = parse_decimal(*text);
    if (number && *number >= least && *number <= most) return *number;
    fields.error(key, "'" + one_line(*text, 40) + "' found, a number from " + decimal_text(least) +
                          " to " + decimal_text(most) + " expected");
    return usual;
}

TimeMs time_in(Fields& fields, std::string_view key, TimeMs usual) {
    const auto text = fields.text(key);
    if (!text) return usual;
    auto time = parse_rfc3339(*text);
    if (!time) time = parse_rfc3339(*text + "T00:00:00Z");
    if (!time) {
        fields.error(key, "'" + one_line(*text, 40) +
                              "' found, a day or a time expected, as 2026-11-27 or "
                              "2026-11-27T14:00:00Z");
        return usual;
    }
    return std::chrono::duration_cast<std::chrono::milliseconds>(time->time_since_epoch()).count();
}

bool flag_in(Fields& fields, std::string_view key) {
    return fields.word(key, {"false", "true"}).value_or(0) == 1;
}

void read_own(const Value& node, const std::string& path, PriceRule& rule,
              std::vector<Problem>& problems) {
    Fields own(node, path, {"purchase", "years", "watts", "perKwh", "pue", "perYear"}, problems);
    rule.is_own = true;
    rule.own.purchase = decimal_in(own, "purchase", 0, kMostPurchase, 0);
    rule.own.years = decimal_in(own, "years", 0.1, kMostYears, 0);
    rule.own.watts = decimal_in(own, "watts", 0, kMostWatts, 0);
    rule.own.per_kwh = decimal_in(own, "perKwh", 0, kMostPerKwh, 0);
    rule.own.pue = decimal_in(own, "pue", 1, kMostPue, 1);
    rule.own.per_year = decimal_in(own, "perYear", 0, kMostPurchase, 0);
    if (rule.own.purchase > 0 && rule.own.years == 0) {
        own.missing("years", "missing, the years that the machine is used expected");
    }
    const double hour = rule.own.per_hour();
    if (hour > static_cast<double>(kMostRate / kMicrosPerUnit)) {
        own.error("purchase", "an hour costs more than 1000000");
        return;
    }
    rule.rate = static_cast<Micros>(hour * static_cast<double>(kMicrosPerUnit) + 0.5);
}

void read_seen(Fields& fields, const std::string& path, PriceRule& rule,
               std::vector<Problem>& problems) {
    const Value* const list = fields.find("seen");
    if (list == nullptr) return;
    if (!list->is_sequence() || list->items.empty() || list->items.size() > kMostSeen) {
        return fields.error(
            "seen", "a list of {at, perHour} expected, at most " + std::to_string(kMostSeen));
    }
    for (std::size_t i = 0; i < list->items.size(); ++i) {
        Fields one(list->items[i], path + ".seen[" + std::to_string(i) + "]", {"at", "perHour"},
                   problems);
        const TimeMs at = time_in(one, "at", INT64_MIN);
        const auto rate = money_in(one, "perHour");
        if (one.find("at") == nullptr) one.missing("at", "missing, when it was seen expected");
        if (one.find("perHour") == nullptr) one.missing("perHour", "missing, the price expected");
        if (rate) rule.seen.emplace_back(at, *rate);
    }
    std::ranges::stable_sort(rule.seen, {}, &std::pair<TimeMs, Micros>::first);
}

void check_names(Fields& fields, const PriceRule& rule) {
    if (!rule.type.empty() && rule.type.find('*') == std::string::npos &&
        catalog::find_gpu_instance(rule.type) == nullptr) {
        fields.warning("type", "'" + one_line(rule.type, 60) + "' is not in the table of machines" +
                                   did_you_mean(catalog::nearest_gpu_instance(rule.type)));
    }
    if (!rule.gpu.empty() && catalog::find_gpu_model(rule.gpu) == nullptr) {
        fields.error("gpu", "'" + one_line(rule.gpu, 60) + "' is no GPU model that we know" +
                                did_you_mean(catalog::nearest_gpu_model(rule.gpu)));
    }
}

void read_labels(Fields& fields, PriceRule& rule) {
    const Value* const labels = fields.find("labels");
    if (labels == nullptr) return;
    if (!labels->is_mapping())
        return fields.error("labels", "a mapping of names to texts expected");
    for (const auto& [name, text] : labels->entries) {
        if (text.is_mapping() || text.is_sequence()) {
            fields.error("labels", "'" + one_line(name.scalar, 60) + "': a text expected");
        } else {
            rule.labels[name.scalar] = text.scalar;
        }
    }
}

void read_rule(const Value& node, std::size_t number, PriceFile& file,
               std::vector<Problem>& problems) {
    const std::string path = "prices[" + std::to_string(number) + "]";
    Fields fields(node, path,
                  {"node", "type", "gpu", "region", "spot", "labels", "from", "until", "perHour",
                   "own", "seen"},
                  problems);
    if (!node.is_mapping()) return;
    PriceRule rule;
    rule.node = fields.text("node").value_or("");
    rule.type = fields.text("type").value_or("");
    rule.gpu = fields.text("gpu").value_or("");
    rule.region = fields.text("region").value_or("");
    if (fields.find("spot") != nullptr) rule.spot = flag_in(fields, "spot");
    read_labels(fields, rule);
    rule.from = time_in(fields, "from", INT64_MIN);
    rule.until = time_in(fields, "until", INT64_MAX);
    if (rule.from >= rule.until) fields.error("until", "is not after from");
    const auto ways = static_cast<int>(fields.find("perHour") != nullptr) +
                      static_cast<int>(fields.find("own") != nullptr) +
                      static_cast<int>(fields.find("seen") != nullptr);
    if (ways != 1) {
        fields.missing("perHour", "one of perHour, own and seen expected, " +
                                      (ways == 0 ? std::string("none") : std::to_string(ways)) +
                                      " found");
    }
    rule.rate = money_in(fields, "perHour").value_or(0);
    if (const Value* const own = fields.find("own")) read_own(*own, path + ".own", rule, problems);
    read_seen(fields, path, rule, problems);
    check_names(fields, rule);
    file.rules.push_back(std::move(rule));
}

void read_budget(const Value& node, std::size_t number, PriceFile& file,
                 std::vector<Problem>& problems) {
    Fields fields(node, "budgets[" + std::to_string(number) + "]",
                  {"queue", "user", "namespace", "amount", "period", "warnPercent", "hold"},
                  problems);
    if (!node.is_mapping()) return;
    Budget budget;
    unsigned named = 0;
    for (const Budget::By by : {Budget::By::kQueue, Budget::By::kUser, Budget::By::kNamespace}) {
        const auto name = fields.text(word(by));
        if (!name) continue;
        ++named;
        budget.by = by;
        budget.name = *name;
    }
    if (named != 1) {
        fields.missing("queue", "one of queue, user and namespace expected, " +
                                    (named == 0 ? std::string("none") : std::to_string(named)) +
                                    " found");
    }
    const auto amount = money_in(fields, "amount");
    if (fields.find("amount") == nullptr) fields.missing("amount", "missing, an amount expected");
    budget.amount = amount.value_or(0);
    budget.period =
        static_cast<Budget::Period>(fields.word("period", {"day", "week", "month"}).value_or(2));
    budget.warn_percent = fields.number("warnPercent", 1, 100).value_or(budget.warn_percent);
    budget.hold = flag_in(fields, "hold");
    file.budgets.push_back(std::move(budget));
}

template <class Read>
void read_list(Fields& root, std::string_view key, std::size_t most, const Read& read) {
    const Value* const list = root.find(key);
    if (list == nullptr) return;
    if (!list->is_sequence() || list->items.size() > most) {
        return root.error(key, "a list of at most " + std::to_string(most) + " expected");
    }
    for (std::size_t i = 0; i < list->items.size(); ++i) read(list->items[i], i);
}

void read_object(std::string_view name, const Value& object, ReadPrices& read) {
    Fields root(object, "",
                {"apiVersion", "kind", "version", "currency", "energy", "prices", "budgets"},
                read.problems);
    if (!object.is_mapping()) return;
    (void)root.word("apiVersion", {"aliquot.dev/v1alpha1"});
    (void)root.word("kind", {"Prices"});
    for (const auto* const key : {"apiVersion", "kind"}) {
        if (root.find(key) != nullptr) continue;
        root.missing(key,
                     std::string("missing, ") +
                         (std::string_view(key) == "kind" ? "Prices" : "aliquot.dev/v1alpha1") +
                         " expected");
    }
    PriceFile& file = read.file;
    const std::string version = root.text("version").value_or("");
    if (version.empty()) {
        root.missing("version",
                     "missing, a text that changes with the file expected: each cost "
                     "says by which prices it was made");
    }
    file.version = one_line(concat({name, " ", version}), 100);
    file.currency = root.text("currency").value_or("USD");
    constexpr std::size_t kCurrencyLetters = 3;
    if (file.currency.size() != kCurrencyLetters ||
        !std::ranges::all_of(file.currency, [](char c) { return c >= 'A' && c <= 'Z'; })) {
        root.error("currency", "'" + one_line(file.currency, 20) +
                                   "' found, three capital letters expected, as USD");
    }
    if (const Value* const energy = root.find("energy")) {
        Fields fields(*energy, "energy", {"pue", "gramsPerKwh"}, read.problems);
        file.pue = decimal_in(fields, "pue", 1, kMostPue, 1);
        if (fields.find("gramsPerKwh") != nullptr) {
            file.grams_per_kwh = decimal_in(fields, "gramsPerKwh", 0, kMostGrams, 0);
        }
    }
    read_list(root, "prices", kMostRules, [&](const Value& one, std::size_t number) {
        read_rule(one, number, file, read.problems);
    });
    read_list(root, "budgets", kMostBudgets, [&](const Value& one, std::size_t number) {
        read_budget(one, number, file, read.problems);
    });
}

}  // namespace

bool ReadPrices::has_errors() const {
    return std::ranges::any_of(problems, [](const Problem& one) { return !one.is_warning; });
}

ReadPrices read_prices(std::string_view name, std::string_view text) {
    ReadPrices read;
    const auto slash = name.rfind('/');
    if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
    const auto stream = document::parse_yaml(text);
    for (const auto& error : stream.errors) read.problems.push_back({error.mark, error.message});
    if (stream.documents.size() > 1) {
        read.problems.push_back({stream.documents[1].mark, "a second document; expected one"});
    }
    if (!stream.documents.empty()) read_object(name, stream.documents.front(), read);
    std::ranges::stable_sort(read.problems, [](const Problem& a, const Problem& b) {
        return std::tie(a.mark.line, a.mark.column) < std::tie(b.mark.line, b.mark.column);
    });
    return read;
}

}  // namespace aliquot::cost
