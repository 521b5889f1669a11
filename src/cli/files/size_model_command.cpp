// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <ostream>

#include "base/number.h"
#include "base/units.h"
#include "catalog/mig_profiles.h"
#include "cli/answer.h"
#include "cli/files/config_command.h"
#include "cli/files/size_command.h"
#include "command_line/command.h"
#include "document/build.h"
#include "k8s/memory_amount.h"
#include "plan/pool.h"
#include "sizing/card.h"
#include "sizing/choice.h"
#include "sizing/text.h"

namespace aliquot::cli {
namespace {

using document::append;
using document::make_mapping;
using document::make_number;
using document::make_sequence;
using document::Value;

struct ModelOptions {
    std::string model;
    std::string config;
    std::string safetensors;
    std::string dtype;
    std::string cache_dtype = "fp16";
    std::string train;
    std::string optimizer = "adam";
    std::string checkpointing;  // empty: none for an encoder, full for others
    double context = 0;
    double batch = 1;
    unsigned gpus = 0;
    unsigned zero = 3;
    double lora_percent = 1.5;
    bool fp32_gradients = false;
    std::string gpu;
    std::string cloud;
    double cpu = 2;
    std::string memory;
    std::string format = "text";
};

/// Only the header is read, not the gigabytes behind it.
Result<sizing::ModelShape> read_header(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) return Error{ErrorCode::kNotFound, file + ": cannot read it"};
    std::string bytes(8, '\0');
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, in.gcount())));
    const std::uint64_t length = sizing::safetensors_header_bytes(bytes);
    if (length > bytes.size()) {
        const std::size_t first = bytes.size();
        bytes.resize(length);
        in.read(bytes.data() + first, static_cast<std::streamsize>(length - first));
        bytes.resize(first + static_cast<std::size_t>(std::max<std::streamsize>(0, in.gcount())));
    }
    return sizing::read_safetensors(file, bytes);
}

Result<sizing::ModelShape> shape_of(const ModelOptions& words) {
    const int named = (words.model.empty() ? 0 : 1) + (words.config.empty() ? 0 : 1) +
                      (words.safetensors.empty() ? 0 : 1);
    if (named != 1) {
        return Error{ErrorCode::kInvalidInput,
                     "one of --model NAME, --config FILE and --safetensors FILE is expected"};
    }
    if (!words.safetensors.empty()) return read_header(words.safetensors);
    if (words.config.empty()) return sizing::model_by_name(words.model);
    const auto input = read_input(words.config);
    if (!input) return input.error();
    return sizing::read_model_config(input->name, input->text);
}

Result<sizing::Load> load_of(const ModelOptions& words, const sizing::ModelShape& shape) {
    sizing::Load load;
    const bool trains = !words.train.empty();
    const auto dtype = words.dtype.empty()
                           ? (trains ? sizing::Dtype::kBf16 : sizing::usual_dtype(shape))
                           : sizing::parse_dtype(words.dtype);
    if (!dtype) return Error(dtype.error()).during("--dtype");
    const auto cache = sizing::parse_dtype(words.cache_dtype);
    if (!cache) return Error(cache.error()).during("--cache-dtype");
    load.dtype = *dtype;
    load.cache_dtype = *cache;
    if (words.train == "full") load.task = sizing::Task::kTrainFull;
    if (words.train == "lora") load.task = sizing::Task::kTrainLora;
    if (words.train == "qlora") load.task = sizing::Task::kTrainQlora;
    if (words.optimizer == "adam8bit") load.optimizer = sizing::Optimizer::kAdam8bit;
    if (words.optimizer == "sgd") load.optimizer = sizing::Optimizer::kSgdMomentum;
    if (words.optimizer == "adafactor") load.optimizer = sizing::Optimizer::kAdafactor;
    const bool encoder = shape.kind == "encoder";
    if (words.checkpointing == "none" || (words.checkpointing.empty() && encoder))
        load.checkpointing = sizing::Checkpointing::kNone;
    if (words.checkpointing == "selective") load.checkpointing = sizing::Checkpointing::kSelective;
    load.context = words.context;
    load.batch = words.batch;
    load.gpus = std::max(1U, words.gpus);
    load.zero_stage = words.zero;
    load.lora_percent = words.lora_percent;
    load.fp32_gradients = words.fp32_gradients;
    return load;
}

Value option_node(const sizing::GpuOption& option) {
    return make_mapping({{"count", option.count},
                         {"gpu", option.model->key},
                         {"gpu_memory_gib", make_number(option.gpu_gib, 2)},
                         {"needed_per_gpu_gib", make_number(option.per_gpu_gib, 2)},
                         {"instance", option.instance->type},
                         {"cloud", option.instance->cloud},
                         {"usd_per_hour", option.usd_per_hour},
                         {"price_date", option.instance->price_date},
                         {"a_share_will_do", option.shared}});
}

/// A card that one has, and whether the model runs on it.
struct Card {
    plan::GpuPool pool;
    std::string name;  // of the model, or of a slice of it: "a100-80 1g.10gb"
    bool slice = false;
    sizing::CardFit fit;
};

Value card_node(const Card& card) {
    Value node = make_mapping({{"gpu", card.name},
                               {"count", card.fit.count},
                               {"fits", card.fit.fits},
                               {"gpu_memory_gib", make_number(card.fit.gpu_gib, 2)},
                               {"usable_gib", make_number(card.fit.usable_gib, 2)},
                               {"needed_per_gpu_gib", make_number(card.fit.per_gpu_gib, 2)}});
    append(node, "needed_on_one_gib", make_number(card.fit.alone_gib, 2));
    if (!card.fit.alone_smaller.empty()) append(node, "one_would_do_in", card.fit.alone_smaller);
    if (!card.fit.problem.empty()) append(node, "problem", card.fit.problem);
    if (card.fit.not_known) append(node, "not_known", true);
    if (!card.fit.smaller.empty()) append(node, "would_fit_in", card.fit.smaller);
    if (!card.fit.alone_less.empty()) append(node, "one_would_do", card.fit.alone_less);
    if (!card.fit.less.empty()) append(node, "would_fit", card.fit.less);
    if (card.fit.most_context > 0) {
        append(node, "most_context_tokens", make_number(card.fit.most_context, 0));
    }
    if (card.fit.most_batch > 0) append(node, "most_batch", make_number(card.fit.most_batch, 0));
    return node;
}

/// told   the number of GPUs
void print_card(std::ostream& out, const Card& card, const sizing::ModelShape& shape,
                const sizing::Load& load, const sizing::Need& need, bool told) {
    const sizing::CardFit& fit = card.fit;
    if (fit.count > 1 && card.pool.count == 1 && !told) {
        out << "one " << card.name << " does not hold it: " << sizing::gib_text(fit.alone_gib)
            << " needed, " << sizing::gib_text(fit.usable_gib) << " usable of "
            << sizing::gib_text(fit.gpu_gib);
        if (!fit.alone_smaller.empty()) out << "; in " << fit.alone_smaller << " it does";
        if (!fit.alone_less.empty()) out << "; " << fit.alone_less << " it does";
        out << '\n';
    }
    out << (fit.count > 1 ? std::to_string(fit.count) + " x " : "") << card.name << " ("
        << sizing::gib_text(fit.gpu_gib) << "): ";
    if (!fit.fits) {
        out << (fit.not_known ? "not known whether it fits: " : "does not fit: ") << fit.problem;
        if (!fit.smaller.empty()) out << "; in " << fit.smaller << " it fits";
        if (!fit.less.empty()) out << "; " << fit.less << " it fits";
        out << '\n';
        return;
    }
    out << "fits, " << sizing::gib_text(fit.per_gpu_gib) << " of "
        << sizing::gib_text(fit.usable_gib) << " usable" << (fit.count > 1 ? " on each" : "")
        << '\n';
    if (!computes_in(*card.pool.model, load)) {
        out << "  weights only: fp8 is computed in from compute capability 8.9; here in 16 bits\n";
    }
    if (fit.most_context > 0) {
        out << "  at most " << decimal_text(fit.most_context, 0) << " tokens at batch "
            << decimal_text(load.batch)
            << (fit.most_context == shape.context ? ", the longest it knows\n" : "\n");
    }
    if (fit.most_batch > 0) {
        out << "  at most batch " << decimal_text(fit.most_batch, 0);
        if (fit.most_context > 0) out << " at " << decimal_text(need.context, 0) << " tokens";
        out << '\n';
    }
}

Value answer_of(const sizing::ModelShape& shape, const sizing::Load& load, const sizing::Need& need,
                const sizing::GpuChoice& choice, const std::optional<Card>& card) {
    Value root = make_mapping({{"model", shape.name},
                               {"parameters", make_number(shape.parameters, 0)},
                               {"active_parameters", make_number(shape.active_parameters, 0)},
                               {"parameters_from", shape.source + ": " + shape.arithmetic},
                               {"task", to_text(load.task)},
                               {"dtype", to_text(load.dtype)},
                               {"context_tokens", make_number(need.context, 0)},
                               {"batch", load.batch},
                               {"gpus", load.gpus},
                               {"total_gib", make_number(need.total_gib, 2)},
                               {"per_gpu_gib", make_number(need.per_gpu_gib, 2)},
                               {"assumed", need.assumed},
                               {"confidence", to_text(need.certainty)}});
    append(root, "terms", make_sequence(need.terms, [&](const sizing::Term& term) {
               return make_mapping({{"name", term.name},
                                    {"gib", make_number(term.gib, 3)},
                                    {"per_gpu_gib", make_number(term.per_gpu_gib, 3)},
                                    {"arithmetic", term.arithmetic}});
           }));
    append(root, "notes", need.notes);
    if (card) append(root, "card", card_node(*card));
    append(root, "options", make_sequence(choice.best, option_node));
    append(root, "cheaper", choice.cheaper);
    append(root, "rejected", choice.rejected);
    return root;
}

void print_text(Context& context, const sizing::ModelShape& shape, const sizing::Load& load,
                const sizing::Need& need, const sizing::GpuChoice& choice,
                const std::optional<Card>& card, bool told) {
    auto& out = context.out;
    out << shape.name << ", " << to_text(load.task) << " in " << to_text(load.dtype) << ": "
        << sizing::gib_text(need.total_gib) << " of GPU memory";
    if (load.gpus > 1) {
        out << ", " << sizing::gib_text(need.per_gpu_gib) << " on each of " << load.gpus;
    }
    out << "\n  parameters: " << shape.arithmetic << " (" << shape.source << ")\n";
    for (const sizing::Term& term : need.terms) {
        out << "  " << term.name << ": " << term.arithmetic << '\n';
    }
    for (const std::string& note : need.notes) out << "  note: " << note << '\n';
    out << "  assumed: " << need.assumed << '\n';
    out << "  confidence: " << to_text(need.certainty) << '\n';
    if (card) print_card(out, *card, shape, load, need, told);
    if (choice.best.empty() && !card) out << "no cloud machine in the table holds it\n";
    if (!choice.best.empty()) out << "cheapest (list prices, on demand):\n";
    for (const auto& option : choice.best) {
        out << "  " << option.count << " x " << option.model->key << " ("
            << sizing::gib_text(option.gpu_gib) << "), " << option.instance->type << ", $"
            << sizing::money_text(option.usd_per_hour) << "/h"
            << (option.shared ? "; takes less than half of the card: a share of it will do" : "")
            << '\n';
    }
    if (!choice.cheaper.empty()) out << "cheaper " << choice.cheaper << '\n';
}

plan::GpuPool pool_of(const catalog::MigSlice& slice) {
    plan::GpuPool pool;
    pool.model = slice.model;
    return pool;
}

/// The GPUs of --gpu as those that one has, or a slice of one; nothing without --gpu. A number format that nobody told is that
/// of the card.
Result<std::optional<Card>> card_of(const ModelOptions& words, const sizing::ModelShape& shape,
                                    sizing::Load& load) {
    std::optional<Card> card;
    if (words.gpu.empty()) return card;
    const catalog::MigSlice slice = catalog::find_mig_slice(words.gpu);
    if (slice.profile != nullptr && slice.model == nullptr) {
        return Error{ErrorCode::kNotFound, "--gpu: '" + words.gpu +
                                               "': no GPU of that name has this slice; aliquot mig "
                                               "plan --gpu MODEL tells those that it has"};
    }
    auto pool = slice.profile == nullptr ? plan::parse_gpu(words.gpu)
                                         : Result<plan::GpuPool>(pool_of(slice));
    if (!pool) return std::move(pool).error().during("--gpu");
    if (words.dtype.empty()) {
        load.dtype = sizing::usual_dtype_on(shape, *pool->model, load.task);
    }
    constexpr unsigned kMost = 8;
    unsigned most = words.gpus > 0 ? words.gpus : pool->count > 1 ? pool->count : kMost;
    double gib = memory_mib(*pool) / kMibPerGib;
    std::string name(pool->model->key);
    if (slice.profile != nullptr) {
        most = 1;  // a model is not parted over slices
        gib = slice.profile->memory_gib;
        name.append(" ").append(slice.profile->name);
    }
    auto fit = fit_card(shape, load, *pool->model, gib, most);
    if (!fit) return std::move(fit).error();
    card = Card{*std::move(pool), std::move(name), slice.profile != nullptr, *std::move(fit)};
    return card;
}

void estimate(Context& context, const ModelOptions& words) {
    const auto shape = shape_of(words);
    if (!shape) return fail(context, kUsage, shape.error().message);
    auto load = load_of(words, *shape);
    if (!load) return fail(context, kUsage, load.error().message);
    sizing::HostNeed host;
    host.cpu_per_gpu = words.cpu;
    host.cloud = words.cloud;
    host.gpus = words.gpus;
    if (!words.memory.empty()) {
        const auto bytes = k8s::parse_bytes(words.memory);
        if (!bytes) return fail(context, kUsage, "--memory: " + bytes.error().message);
        host.memory_mib = static_cast<double>(*bytes) / kBytesPerMib;
    }
    const auto card = card_of(words, *shape, *load);
    if (!card) return fail(context, kUsage, card.error().message);
    if (*card) host.gpu = (*card)->pool.model->key;
    const bool listed = !*card || ((*card)->pool.unlisted == nullptr && !(*card)->slice);
    const auto choice =
        listed ? choose_gpus(*shape, *load, host) : Result<sizing::GpuChoice>(sizing::GpuChoice{});
    sizing::Load shown = *load;
    // The sum is shown for the count that the card, or the best option, has.
    if (*card) shown.gpus = (*card)->fit.count;
    if (!*card && words.gpus == 0 && choice && !choice->best.empty()) {
        shown.gpus = choice->best.front().count;
    }
    const auto need = estimate_memory(*shape, shown);
    if (!need || !choice) {
        return fail(context, kUsage, need ? choice.error().message : need.error().message);
    }
    const bool held = *card ? (*card)->fit.fits : !choice->best.empty();
    context.exit_code = held ? kOk : kFindings;
    if (words.format == "text") {
        return print_text(context, *shape, shown, *need, *choice, *card, words.gpus > 0);
    }
    const Value answer = answer_of(*shape, shown, *need, *choice, *card);
    print_answer(context.out, "ModelSize", versioned(with_camel_case(answer)), words.format);
}

void add_load(command_line::Command& command, ModelOptions& words) {
    command.add_option(
        "--dtype", words.dtype,
        "Number format of the weights; by default that of its name (AWQ, q4_K_M), as the model "
        "ships, else bf16",
        "FORMAT (fp32, bf16, fp16, fp8, int8, int4, nvfp4, q4_k_m, q8_0 ..., shipped)");
    command.add_option("--cache-dtype", words.cache_dtype, "Number format of the cache", "FORMAT");
    command
        .add_option("--ctx", words.context, "Context in tokens; default 4096",
                    "TOKENS (8192, 128k)")
        ->range(1.0, 1e8)
        ->transform(sizing::token_count);
    command.add_option("--batch", words.batch, "Requests, or samples on each GPU, at a time", "N")
        ->range(1.0, 1e6);
    command.add_option("--train", words.train, "Training instead of inference", "full|lora|qlora")
        ->one_of({"full", "lora", "qlora"});
    command
        .add_option("--optimizer", words.optimizer, "Optimizer of full training",
                    "adam|adam8bit|sgd|adafactor")
        ->one_of({"adam", "adam8bit", "sgd", "adafactor"});
    command
        .add_option("--checkpointing", words.checkpointing,
                    "Activation checkpointing; default: none for encoders", "none|selective|full")
        ->one_of({"none", "selective", "full"});
    command.add_option("--zero", words.zero, "ZeRO stage over several GPUs", "0..3")->range(0U, 3U);
    command
        .add_option("--lora-percent", words.lora_percent, "Trainable share of the parameters",
                    "PERCENT")
        ->range(0.001, 100.0);
    command.add_flag("--fp32-gradients", words.fp32_gradients, "Gradients in FP32: 18 bytes each");
}

}  // namespace

void add_size_model(command_line::Command& size, Context& context) {
    command_line::Command* command = size.add_subcommand(
        "model",
        "Estimate how much GPU memory a neural network needs, and which GPUs are cheapest\n\n"
        "With --gpu: whether it fits on that card, with which context and batch. Exit code 1: it "
        "does not fit; without --gpu, no cloud machine of the table holds it.");
    command->footer(
        "aliquot size model --model llama-3-8b --dtype int4 --ctx 8192 --batch 4\n"
        "aliquot size model --model mistral-7b --train full --gpus 4\n"
        "aliquot size model --model llama-3-8b --dtype int4 --gpu rtx-3090   # does it fit?\n"
        "aliquot size model --config config.json --train qlora --gpu a10g\n"
        "aliquot size model --safetensors model.safetensors -o json");
    auto words = std::make_shared<ModelOptions>();
    command->add_option("--model", words->model, "A name, with or without its maker", "NAME")
        ->complete_by("models");
    command->add_option("--config", words->config, "The config.json of a model", "FILE");
    command->add_option("--safetensors", words->safetensors, "Its weights; only the header is read",
                        "FILE");
    add_load(*command, *words);
    command->add_option("--gpus", words->gpus, "Consider only this many GPUs", "1|2|4|8")
        ->one_of({"1", "2", "4", "8"});
    command
        ->add_option("--gpu", words->gpu,
                     "Your GPU, a MIG slice of it (\"a100-80 1g.10gb\"), or a size (24GiB)",
                     "[N x] MODEL")
        ->complete_by("gpu-models");
    command->add_option("--cloud", words->cloud, "Only this cloud", "aws|azure|gcp")
        ->one_of({"aws", "azure", "gcp"});
    command->add_option("--cpu", words->cpu, "CPU cores of the machine for each GPU", "CORES")
        ->range(0.0, 1e4);
    command->add_option("--memory", words->memory, "Memory of the machine for the pod",
                        "AMOUNT (16Gi)");
    add_output(*command, words->format, {"text"});
    command->callback([words, &context] { estimate(context, *words); });
}

}  // namespace aliquot::cli
