// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <memory>
#include <ostream>

#include "base/number.h"
#include "base/text.h"
#include "base/time_text.h"
#include "catalog/gpu_instances.h"
#include "catalog/gpu_models.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/files/config_command.h"
#include "cli/files/price_file.h"
#include "cli/rows.h"
#include "command_line/command.h"
#include "cost/outputs.h"
#include "cost/share.h"
#include "document/build.h"
#include "pools/read.h"

namespace aliquot::cli {
namespace {

using document::make_mapping;
using document::Value;

constexpr std::size_t kMostMib = 16;
constexpr int kDays = 24;

struct ListOptions {
    std::string gpu;
    std::string cloud;
    std::string prices;
    std::string format = "table";
};

/// One machine, as its price is now.
struct Priced {
    const catalog::GpuInstance* instance = nullptr;
    cost::Price price;
    cost::Price spot;
    cost::Micros per_gpu = 0;  // an hour of one of its GPUs, without CPU and memory
};

Priced priced(const catalog::GpuInstance& instance, const cost::PriceFile& file, cost::TimeMs now) {
    cost::Machine machine{.name = "",
                          .type = std::string(instance.type),
                          .region = std::string(instance.region),
                          .gpu = std::string(instance.model->key),
                          .gpus = instance.gpu_count,
                          .labels = {}};
    Priced one{.instance = &instance, .price = cost::price_of(machine, now, file), .spot = {}};
    machine.spot = true;
    one.spot = cost::price_of(machine, now, file);
    constexpr std::uint32_t kMilli = 1'000;
    const cost::Span span{.rate = one.price.rate,
                          .cpu_milli = instance.vcpu * kMilli,
                          .memory_mib = static_cast<std::uint32_t>(instance.memory_gib * 1024),
                          .devices = std::vector<cost::NameId>(instance.gpu_count, 1)};
    const cost::Rates rates = cost::rates_of(span);
    if (!rates.gpus.empty()) one.per_gpu = rates.gpus.front();
    return one;
}

std::string spot_text(const Priced& one) {
    if (one.spot.source.find("not known") != std::string::npos) return "";
    return one.spot.rate == one.price.rate ? "" : cost::money_text(one.spot.rate, 4);
}

Value document_of(const Priced& one) {
    const auto units = [](cost::Micros amount) {
        return document::make_number(
            static_cast<double>(amount) / static_cast<double>(cost::kMicrosPerUnit), 6);
    };
    return make_mapping(
        {{"cloud", one.instance->cloud},
         {"type", one.instance->type},
         {"gpu", one.instance->model->key},
         {"gpus", one.instance->gpu_count},
         {"perHour", units(one.price.rate)},
         {"gpuPerHour", units(one.per_gpu)},
         {"spotPerHour", document::only_if(!spot_text(one).empty(), units(one.spot.rate))},
         {"region", one.instance->region},
         {"version", one.price.version},
         {"source", one.price.source}});
}

cost::TimeMs now_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

std::string age_text(std::string_view day, cost::TimeMs now) {
    const auto time = parse_rfc3339(concat({day, "T00:00:00Z"}));
    if (!time) return "";
    const auto then = std::chrono::duration_cast<std::chrono::hours>(time->time_since_epoch());
    return std::to_string((now / cost::kHourMs - then.count()) / kDays) + " days";
}

void list(Context& context, const ListOptions& words) {
    const auto file = read_price_file(words.prices);
    if (!file) return fail(context, kUsage, file.error().message);
    const catalog::GpuModel* const model =
        words.gpu.empty() ? nullptr : catalog::find_gpu_model(words.gpu);
    if (!words.gpu.empty() && model == nullptr) {
        return fail(context, kUsage, "--gpu: '" + words.gpu + "' is no GPU model that is known");
    }
    const cost::TimeMs now = now_ms();
    std::vector<Priced> all;
    for (const catalog::GpuInstance& one : catalog::gpu_instances()) {
        if (model != nullptr && one.model != model) continue;
        if (!words.cloud.empty() && one.cloud != words.cloud) continue;
        all.push_back(priced(one, *file, now));
    }
    std::ranges::stable_sort(all, {}, [](const Priced& one) {
        return std::pair(one.instance->gpu_count == 0, one.per_gpu);
    });
    if (words.format != "table") {
        print_answer(
            context.out, "PriceList",
            versioned(make_mapping(
                {{"currency", file->currency},
                 {"prices", document::make_sequence(
                                all, [](const Priced& one) { return document_of(one); })}})),
            words.format);
        return;
    }
    std::vector<Row> rows{{"TYPE", "CLOUD", "GPUS", file->currency + "/H", "GPU/H", "SPOT/H",
                           "REGION", "PRICE OF", "AGE"}};
    for (const Priced& one : all) {
        const bool listed = one.price.version.starts_with(one.instance->cloud);
        rows.push_back(
            {std::string(one.instance->type), std::string(one.instance->cloud),
             one.instance->gpu_count == 0
                 ? concat({"part of ", one.instance->model->key})
                 : concat({std::to_string(one.instance->gpu_count), " ", one.instance->model->key}),
             cost::money_text(one.price.rate, 4),
             one.per_gpu == 0 ? "" : cost::money_text(one.per_gpu, 4), spot_text(one),
             std::string(one.instance->region), one.price.version,
             listed ? age_text(one.instance->price_date, now) : ""});
    }
    print_rows(context.out, std::move(rows));
}

struct CheckOptions {
    std::string file;
    std::vector<std::string> nodes;
};

std::string rule_text(const cost::PriceRule& rule) {
    std::vector<std::string> words;
    const auto add = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) words.push_back(concat({name, " ", value}));
    };
    add("node", rule.node);
    add("type", rule.type);
    add("gpu", rule.gpu);
    add("region", rule.region);
    if (rule.spot) words.emplace_back(*rule.spot ? "spot" : "on demand");
    for (const auto& [name, value] : rule.labels) add("label " + name, value);
    return words.empty() ? "any machine" : join(words);
}

void check(Context& context, const CheckOptions& words) {
    const auto input = read_input(words.file, kMostMib);
    if (!input) return fail(context, kUsage, input.error().message);
    const auto read = cost::read_prices(input->name, input->text);
    context.err << pools::text_of(input->name, read.problems);
    if (read.has_errors()) {
        context.exit_code = kFindings;
        return;
    }
    const cost::PriceFile& file = read.file;
    std::vector<Row> rows{{"FOR", file.currency + "/H", "MADE OF"}};
    for (const cost::PriceRule& rule : file.rules) {
        const std::string made =
            !rule.seen.empty() ? std::to_string(rule.seen.size()) + " spot prices, the last one"
            : rule.is_own      ? concat({"purchase over ", decimal_text(rule.own.years),
                                         " years, power and the rest"})
                               : "as given";
        rows.push_back(
            {rule_text(rule),
             cost::money_text(rule.seen.empty() ? rule.rate : rule.seen.back().second, 4), made});
    }
    if (rows.size() > 1) print_rows(context.out, std::move(rows));
    for (const cost::Budget& one : file.budgets) {
        context.out << "budget of " << cost::word(one.by) << ' ' << one.name << ": "
                    << cost::money_text(one.amount, 2) << ' ' << file.currency << " a "
                    << cost::word(one.period) << ", warns at " << one.warn_percent << " %"
                    << (one.hold ? ", holds what is new when it is spent" : "") << '\n';
    }
    context.out << file.version << ": ok\n";
}

void add_list(command_line::Command& price, Context& context) {
    command_line::Command* command =
        price.add_subcommand("list", "List what machines with GPUs cost, the cheapest GPU first");
    const auto words = std::make_shared<ListOptions>();
    command->add_option("--gpu", words->gpu, "Only machines with this GPU", "MODEL")
        ->complete_by("gpu-models");
    command->add_option("--cloud", words->cloud, "Only machines of this cloud", "CLOUD")
        ->one_of({"aws", "azure", "gcp"});
    command->add_option("--prices", words->prices, "Your own prices, which take precedence",
                        "FILE");
    add_output(*command, words->format);
    command->footer(
        "aliquot price list --gpu t4 --cloud aws\naliquot price list --prices site.yaml");
    command->callback([words, &context] { list(context, *words); });
}

}  // namespace

Result<cost::PriceFile> read_price_file(const std::string& name) {
    if (name.empty()) return cost::PriceFile{};
    const auto input = read_input(name, kMostMib);
    if (!input) return input.error();
    auto read = cost::read_prices(input->name, input->text);
    if (!read.has_errors()) return std::move(read.file);
    std::erase_if(read.problems, [](const auto& one) { return one.is_warning; });
    std::string text = pools::text_of(input->name, read.problems);
    text.pop_back();
    return Error{ErrorCode::kInvalidInput, std::move(text)};
}

void add_price_command(command_line::Command& program, Context& context) {
    command_line::Command* price = program.add_subcommand(
        "price", "Show what machines with GPUs cost: the table, and prices of your own");
    add_list(*price, context);
    command_line::Command* command = price->add_subcommand(
        "check", "Check a file of your own prices and budgets, and show its contents");
    const auto words = std::make_shared<CheckOptions>();
    command->add_option("FILE", words->file, "Price file; - for standard input", " ")->required();
    command->footer("aliquot price check examples/cost/site.yaml");
    command->callback([words, &context] { check(context, *words); });
    price->require_subcommand(1, 1);
    price->footer("aliquot price list --gpu a100-80\naliquot price check examples/cost/site.yaml");
}

}  // namespace aliquot::cli
