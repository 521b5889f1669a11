// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>
#include <ostream>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/files/price_file.h"
#include "cli/jobs/job_client.h"
#include "cli/jobs/job_words.h"
#include "command_line/command.h"
#include "cost/report.h"
#include "cost_store/question.h"

namespace aliquot::cli {
namespace {

constexpr std::string_view kWay =
    "costs are told by aliquot serve, which records those of this machine, or by a controller of a "
    "cluster with --cost-listen, whose address --server names";

struct CostOptions {
    std::string by = "user";
    std::string since;
    std::string until;
    std::string output = "table";
    std::string store;
    std::string prices;
    JobClient client;
};

std::string encoded(std::string_view text) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        if (is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == ':') {
            out += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        out += '%';
        out += kHex[byte >> 4U];
        out += kHex[byte & 15U];
    }
    return out;
}

Result<std::string> stored(const CostOptions& words) {
    const auto prices = read_price_file(words.prices);
    if (!prices) return prices.error();
    const cost::TimeMs now = std::chrono::duration_cast<std::chrono::milliseconds>(
                                 std::chrono::system_clock::now().time_since_epoch())
                                 .count();
    const auto question = cost_store::question_of(words.by, words.since, words.until, now);
    if (!question) return question.error();
    auto store = cost_store::Store::open_to_read(words.store);
    if (!store) return std::move(store).error();
    return cost_store::rendered(*store, *question, *prices, words.output, now);
}

Result<std::string> asked(const CostOptions& words) {
    std::string path = concat({"/v1/cost?by=", encoded(words.by), "&output=", words.output});
    if (!words.since.empty()) path += "&since=" + encoded(words.since);
    if (!words.until.empty()) path += "&until=" + encoded(words.until);
    const auto answer = words.client.ask_server("GET", path, "", "", kWay);
    if (!answer) return answer.error();
    return answer->body;
}

void tell(Context& context, const CostOptions& words) {
    const auto text = words.store.empty() ? asked(words) : stored(words);
    if (!text) return failed(context, text.error());
    context.out << *text;
}

}  // namespace

void add_cost_command(command_line::Command& program, Context& context) {
    command_line::Command* command = program.add_subcommand(
        "cost",
        "Show what GPUs have cost by user, queue, job, pod, node or model, and what was idle");
    const auto words = std::make_shared<CostOptions>();
    std::vector<std::string> by;
    for (const std::string_view word : cost::by_words()) by.emplace_back(word);
    command->add_option("--by", words->by, "Group the costs by this", "WHAT (" + join(by) + ")")
        ->one_of(by);
    command->add_option("--since", words->since,
                        "Start of the report: 12h, 7d, a day or an RFC 3339 time; default 7d",
                        "TIME");
    command->add_option("--until", words->until, "End of the report; default now", "TIME");
    add_output(*command, words->output, {"table", "wide"}, {"csv", "focus"});
    command->add_option("--store", words->store,
                        "Read the store itself: a file of aliquot serve or of the controller, or "
                        "postgresql://...",
                        "PLACE");
    command->add_option("--prices", words->prices,
                        "With --store: currency, budgets and CO2e of this price file", "FILE");
    add_server_flag(*command, words->client, "aliquot serve, or a controller with --cost-listen,");
    command->footer(
        "aliquot cost --by queue --since 7d\naliquot cost --by job -o wide\n"
        "aliquot cost --store postgresql://reports@db/aliquot --by namespace --since 2026-11-01 "
        "-o csv");
    command->callback([words, &context] { tell(context, *words); });
}

}  // namespace aliquot::cli
