// SPDX-License-Identifier: Apache-2.0
#include "cli/files/size_command.h"

#include <algorithm>
#include <memory>
#include <ostream>
#include <vector>

#include "catalog/gpu_models.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "command_line/command.h"
#include "document/build.h"
#include "plan/pool.h"
#include "sizing/batch.h"
#include "sizing/text.h"

namespace aliquot::cli {
namespace {

using document::append;
using document::make_mapping;
using document::make_number;
using document::make_sequence;
using document::only_if;
using document::Value;

struct BatchOptions {
    std::vector<std::string> gpus;
    double memory_gib = 0;
    double per_sample_gib = 1;
    double weights_gib = 0;
    unsigned failed_at = 0;
    std::string format = "text";
};

struct BatchRow {
    std::string gpu;
    sizing::BatchAdvice advice;
};

Value batch_node(const BatchRow& row) {
    return make_mapping({{"gpu", row.gpu},
                         {"memory_gib", row.advice.memory_gib},
                         {"batch", row.advice.batch},
                         {"formula", row.advice.formula},
                         {"batch_by_sample", row.advice.by_sample},
                         {"formula_by_sample", row.advice.sample_formula}});
}

/// One GPU: its fields at the top, and the list beside them as for several.
Value answer_of(const std::vector<BatchRow>& rows, unsigned failed_at) {
    Value root = rows.size() == 1 ? batch_node(rows.front()) : make_mapping();
    append(root, "batches", make_sequence(rows, batch_node));
    append(root, "out_of_memory_advice",
           make_sequence(sizing::out_of_memory_advice(), [](auto line) { return line; }));
    append(root, "try_next", only_if(failed_at > 0, sizing::halvings(failed_at)));
    return root;
}

void print_text(Context& context, const std::vector<BatchRow>& rows, unsigned failed_at) {
    for (const BatchRow& row : rows) {
        context.out << row.gpu << ": batch " << row.advice.batch << "  [" << row.advice.formula
                    << "]\n";
        if (rows.size() > 1) continue;
        context.out << "  by sample: ";
        if (row.advice.by_sample == 0) {
            context.out << "no room for one";
        } else {
            context.out << row.advice.by_sample;
        }
        context.out << "  [" << row.advice.sample_formula << "]\n";
    }
    if (failed_at > 0) {
        context.out << "out of memory at " << failed_at << ", try next:";
        for (const unsigned next : sizing::halvings(failed_at)) context.out << ' ' << next;
        context.out << '\n';
    }
    if (rows.size() > 1 && failed_at == 0) return;
    context.out << "out of memory? In this order:\n";
    unsigned number = 0;
    for (const auto line : sizing::out_of_memory_advice()) {
        context.out << "  " << ++number << ". " << line << '\n';
    }
}

void advise(Context& context, const BatchOptions& words) {
    std::vector<BatchRow> rows;
    const sizing::SampleCost cost{2, words.weights_gib, words.per_sample_gib};
    if (words.memory_gib > 0) {
        rows.push_back(
            {sizing::gib_text(words.memory_gib), sizing::advise_batch(words.memory_gib, cost)});
    }
    for (const std::string& gpu : words.gpus) {
        const auto pool = plan::parse_gpu(gpu);
        if (!pool) return fail(context, kUsage, "--gpu: " + pool.error().message);
        rows.push_back(
            {std::string(pool->model->key), sizing::advise_batch(pool->model->memory_gib, cost)});
    }
    if (rows.empty()) {
        for (const catalog::GpuModel& model : catalog::gpu_models()) {
            rows.push_back({std::string(model.key), sizing::advise_batch(model.memory_gib, cost)});
        }
    }
    // Only the costs that were told can fail: the defaults fit every GPU of the table.
    if (std::ranges::any_of(rows, [](const BatchRow& row) { return row.advice.by_sample == 0; })) {
        context.exit_code = kFindings;
    }
    if (words.format == "text") {
        print_text(context, rows, words.failed_at);
    } else {
        print_answer(context.out, "BatchAdvice",
                     versioned(with_camel_case(answer_of(rows, words.failed_at))), words.format);
    }
}

}  // namespace

void add_size_batch(command_line::Command& size, Context& context) {
    command_line::Command* command = size.add_subcommand(
        "batch",
        "Suggest a first batch size for a vision model on a GPU\n\n"
        "Without a GPU: a table of all known ones. The numbers are for YOLOv8 at 640 pixels.");
    command->footer(
        "aliquot size batch --gpu a100-80\n"
        "aliquot size batch --gpu v100-32 --gpu a100-40 -o json\n"
        "aliquot size batch --gpu t4 --failed-at 16   # out of memory: what to try next");
    auto words = std::make_shared<BatchOptions>();
    command->add_option("--gpu", words->gpus, "A GPU model", "MODEL")->complete_by("gpu-models");
    command
        ->add_option("--memory", words->memory_gib, "GPU memory in GiB, in place of a model", "GIB")
        ->range(0.1, 1e6);
    command
        ->add_option("--per-sample", words->per_sample_gib, "What one sample takes, in GiB", "GIB")
        ->range(0.0001, 1e6);
    command->add_option("--weights", words->weights_gib, "What the weights take, in GiB", "GIB")
        ->range(0.0, 1e6);
    command->add_option("--failed-at", words->failed_at, "A batch size that ran out of memory", "N")
        ->range(1U, 1U << 30U);
    add_output(*command, words->format, {"text"});
    command->callback([words, &context] { advise(context, *words); });
}

void add_size_command(command_line::Command& program, Context& context) {
    command_line::Command* size = program.add_subcommand(
        "size", "Estimate how much GPU a model, a pod or a batch needs, and on which machine");
    size->require_subcommand(1);
    size->footer(
        "aliquot size model --model llama-3-8b --dtype bf16\n"
        "aliquot size model --model llama-3-8b --train qlora\n"
        "aliquot size instance --cpu 4 --memory 16Gi --gpu t4\n"
        "aliquot size batch --gpu a100-80\n"
        "aliquot size node g4dn.xlarge\n"
        "aliquot size measured runs.yaml");
    add_size_model(*size, context);
    add_size_instance(*size, context);
    add_size_batch(*size, context);
    add_size_node(*size, context);
    add_size_measured(*size, context);
}

}  // namespace aliquot::cli
