// SPDX-License-Identifier: Apache-2.0
// Rows by the FinOps Open Cost and Usage Specification.
#include <chrono>

#include "base/json_text.h"
#include "base/number.h"
#include "base/text.h"
#include "cost/outputs.h"

namespace aliquot::cost {
namespace {

constexpr int kQuantityDigits = 6;

/// The month that a time is in, and the next one.
std::pair<TimeMs, TimeMs> billing_period(TimeMs at) {
    using std::chrono::floor;
    using std::chrono::milliseconds;
    const TimeMs begin = begin_of(Budget::Period::kMonth, at);
    const std::chrono::sys_days day =
        floor<std::chrono::days>(std::chrono::sys_time<milliseconds>(milliseconds(begin)));
    const std::chrono::year_month_day date(day);
    const std::chrono::sys_days next =
        (date.year() / date.month() + std::chrono::months(1)) / std::chrono::day(1);
    return {begin, std::chrono::duration_cast<milliseconds>(next.time_since_epoch()).count()};
}

std::string tags_of(const std::vector<std::pair<std::string_view, std::string>>& tags) {
    std::string text = "{";
    for (const auto& [name, value] : tags) {
        if (value.empty()) continue;
        if (text.size() > 1) text += ",";
        append_json_quoted(text, name);
        text += ":";
        append_json_quoted(text, value);
    }
    return text + "}";
}

const std::vector<std::string>& columns() {
    static const std::vector<std::string> kColumns{"BilledCost",
                                                   "EffectiveCost",
                                                   "ListCost",
                                                   "ContractedCost",
                                                   "BillingCurrency",
                                                   "BillingAccountId",
                                                   "BillingAccountName",
                                                   "BillingPeriodStart",
                                                   "BillingPeriodEnd",
                                                   "ChargePeriodStart",
                                                   "ChargePeriodEnd",
                                                   "ChargeCategory",
                                                   "ChargeClass",
                                                   "ChargeDescription",
                                                   "ChargeFrequency",
                                                   "ConsumedQuantity",
                                                   "ConsumedUnit",
                                                   "PricingQuantity",
                                                   "PricingUnit",
                                                   "PricingCategory",
                                                   "ProviderName",
                                                   "PublisherName",
                                                   "InvoiceIssuerName",
                                                   "ServiceCategory",
                                                   "ServiceName",
                                                   "ResourceId",
                                                   "ResourceName",
                                                   "ResourceType",
                                                   "SubAccountId",
                                                   "SubAccountName",
                                                   "CapacityReservationId",
                                                   "CapacityReservationStatus",
                                                   "Tags",
                                                   "x_State",
                                                   "x_Node",
                                                   "x_GpuUuid",
                                                   "x_MigUuid",
                                                   "x_GpuModel",
                                                   "x_Namespace",
                                                   "x_Queue",
                                                   "x_User",
                                                   "x_Job",
                                                   "x_Attempt",
                                                   "x_Pod",
                                                   "x_Container",
                                                   "x_Workflow",
                                                   "x_GpuCost",
                                                   "x_CpuCost",
                                                   "x_MemoryCost",
                                                   "x_EnergyKwh",
                                                   "x_PriceVersion"};
    return kColumns;
}

std::string hours_text(std::int64_t ms) {
    return fixed_text(static_cast<double>(ms) / static_cast<double>(kHourMs), kQuantityDigits);
}

/// Columns of our own: who, of what, at which price.
void add_own(const Row& row, const History& names, std::vector<std::string>& cells) {
    const Owner& owner = names.owners[row.owner];
    cells.emplace_back(word(row.state));
    for (const NameId id : {row.node, row.device, row.part, row.model, owner.space, owner.queue,
                            owner.user, owner.job}) {
        cells.push_back(names.names.text(id));
    }
    cells.push_back(owner.attempt == 0 ? "" : std::to_string(owner.attempt));
    for (const NameId id : {owner.pod, owner.container, owner.workflow}) {
        cells.push_back(names.names.text(id));
    }
    for (const Micros amount : {row.gpu, row.cpu, row.memory}) cells.push_back(money_text(amount));
    cells.push_back(fixed_text(kwh_of(row.energy_millijoules), kQuantityDigits));
    cells.push_back(names.names.text(row.price));
}

std::string line_of(const Row& row, const History& names, const std::string& currency) {
    const Owner& owner = names.owners[row.owner];
    const auto text = [&](NameId id) -> const std::string& { return names.names.text(id); };
    const std::string amount = money_text(row.total());
    // What nobody had is metered, too: it was kept for whoever would come.
    const std::string hours = hours_text(row.device == 0 ? row.core_ms : row.gpu_ms);
    const char* const unit = row.device == 0 ? "Core-Hours" : "GPU-Hours";
    const auto [begin, end] = billing_period(row.hour);
    const bool nobody = row.owner == 0;
    const std::string& account = owner.space != 0 ? text(owner.space) : text(owner.queue);
    const NameId resource = row.part != 0 ? row.part : row.device != 0 ? row.device : row.node;
    const char* const type = row.part != 0 ? "MIG device" : row.device != 0 ? "GPU" : "Node";
    const std::string what = row.device == 0 ? "CPU and memory" : "GPU " + text(row.model);
    // Nothing is discounted: all four are one.
    std::vector<std::string> cells(4, amount);
    const auto add = [&](std::initializer_list<std::string> more) {
        cells.insert(cells.end(), more);
    };
    add({currency, "aliquot", "aliquot", time_text(begin), time_text(end)});
    add({time_text(row.hour), time_text(row.hour + kHourMs), "Usage", ""});
    add({concat({what, " of ", text(row.node), ", ", word(row.state)}), "Usage-Based"});
    add({hours, unit, hours, unit, "Standard"});
    add({"aliquot", "aliquot", "aliquot", "Compute", "GPU"});
    add({text(resource), text(resource), type, account, account});
    add({text(row.node), nobody ? "Unused" : "Used",
         tags_of({{"namespace", text(owner.space)},
                  {"queue", text(owner.queue)},
                  {"user", text(owner.user)},
                  {"job", text(owner.job)},
                  {"pod", text(owner.pod)},
                  {"workflow", text(owner.workflow)}})});
    add_own(row, names, cells);
    return csv_line(cells);
}

}  // namespace

std::string focus_of(const Allocation& allocation, const History& names,
                     const std::string& currency) {
    std::string text = csv_line(columns());
    for (const Row& row : allocation.rows) text += line_of(row, names, currency);
    return text;
}

}  // namespace aliquot::cost
