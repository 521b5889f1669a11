// SPDX-License-Identifier: Apache-2.0
#include "sizing/memory.h"

#include <algorithm>
#include <array>

#include "base/nearest_word.h"
#include "base/number.h"
#include "base/units.h"
#include "sizing/text.h"

namespace aliquot::sizing {
namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
constexpr double kContextGib = 0.6;  // CUDA context and kernels of one process: 0.3 to 0.8

std::string billions(double parameters) { return decimal_text(parameters / kBillion, 3) + " B"; }

/// Adds "name: count x bytes = gib".
void add(Need& need, std::string name, double bytes, double per_gpu_bytes, std::string how) {
    Term term;
    term.name = std::move(name);
    term.gib = bytes / kGib;
    term.per_gpu_gib = per_gpu_bytes / kGib;
    term.arithmetic = std::move(how) + " = " + gib_text(term.gib);
    need.terms.push_back(std::move(term));
}

/// Whether llama.cpp serves it, which takes less beside the weights than vLLM.
bool by_llama_cpp(const ModelShape& shape, Dtype dtype) {
    return is_gguf(dtype) || (dtype == Dtype::kShipped && shape.served_by_llama_cpp);
}

void sum_up(Need& need) {
    for (const Term& term : need.terms) {
        need.total_gib += term.gib;
        need.per_gpu_gib += term.per_gpu_gib;
    }
}

std::string weight_arithmetic(const ModelShape& shape, Dtype dtype) {
    if (dtype == Dtype::kShipped && shape.weight_bytes > 0) {
        return billions(shape.parameters) + " parameters as shipped";
    }
    std::string how = billions(shape.parameters) + " parameters x ";
    how += decimal_text(bytes_per_parameter(dtype), 4) + " B (" + std::string(to_text(dtype));
    return how + (dtype == Dtype::kInt4 ? " with 10 % for scales)" : ")");
}

/// "32 layers x 2048 values x 2 B = 128 KiB per token x 4096 tokens", or with layers of a window
std::string cache_arithmetic(const ModelShape& shape, double bytes_per_value, double context) {
    const double per_layer = shape.kv_width * bytes_per_value;
    const std::string values =
        decimal_text(shape.kv_width) + " values x " + decimal_text(bytes_per_value) + " B";
    if (shape.windowed_layers == 0 || context <= shape.window_tokens) {
        return std::to_string(shape.layers) + " layers x " + values + " = " +
               decimal_text(shape.layers * per_layer / kMibPerGib) + " KiB per token x " +
               decimal_text(context) + " tokens";
    }
    return values + " = " + decimal_text(per_layer / kMibPerGib) + " KiB per token and layer x (" +
           std::to_string(shape.layers - shape.windowed_layers) + " layers x " +
           decimal_text(context) + " tokens + " + std::to_string(shape.windowed_layers) +
           " layers x their window of " + std::to_string(shape.window_tokens) + ")";
}

void add_cache(Need& need, const ModelShape& shape, const Load& load) {
    if (!shape.has_cache()) return;
    const double bytes_per_value =
        load.cache_dtype == Dtype::kInt8 || load.cache_dtype == Dtype::kFp8
            ? 1
            : bytes_per_parameter(load.cache_dtype);
    const double windowed = shape.windowed_layers;
    const double kept = shape.windowed_layers == 0
                            ? need.context
                            : std::min<double>(need.context, shape.window_tokens);
    const double tokens = (shape.layers - windowed) * need.context + windowed * kept;
    const double bytes = tokens * shape.kv_width * bytes_per_value * load.batch;
    // More GPUs than heads in the cache keep copies.
    const double parts = std::min<double>(load.gpus, std::max(1U, shape.kv_heads));
    add(need, "cache", bytes, bytes / parts,
        cache_arithmetic(shape, bytes_per_value, need.context) + " x batch " +
            decimal_text(load.batch));
}

/// Embeddings of input and output: 0 when the vocabulary is not known.
double embedding_parameters(const ModelShape& shape) {
    return shape.vocabulary * shape.hidden * (shape.tied ? 1 : 2);
}

/// What a format of four bits leaves in 16.
void add_embeddings(Need& need, const ModelShape& shape, const Load& load) {
    const bool qlora = load.task == Task::kTrainQlora;
    const double parameters = embedding_parameters(shape);
    if (parameters == 0 || !(qlora || keeps_embeddings(load.dtype))) return;
    const Dtype dtype = qlora ? Dtype::kInt4 : load.dtype;
    const double more = 2 - bytes_per_parameter(dtype);
    const bool spread = load.task == Task::kInference || (load.gpus > 1 && load.zero_stage >= 3);
    const double bytes = parameters * more * (spread ? 1 : load.gpus);
    add(need, "embeddings", bytes, bytes / load.gpus,
        billions(parameters) + " of them stay in 16 bits x " + decimal_text(more) + " B more");
}

/// What a server takes on each GPU beside weights and cache.
void add_serving(Need& need, const ModelShape& shape, const Load& load) {
    const double gpus = load.gpus;
    const bool small = by_llama_cpp(shape, load.dtype);
    const double tokens = std::min(need.context * load.batch, small ? 512.0 : 8192.0);
    constexpr double kSmallContextGib = 0.45;  // without the libraries of PyTorch
    const double context = small ? kSmallContextGib : kContextGib;
    double bytes = context * kGib;
    std::string how = gib_text(context) + " CUDA context";
    if (small) {
        const double each = 4 * shape.vocabulary + 64.0 * shape.hidden;
        bytes += tokens * each;
        how += " + " + decimal_text(tokens) + " tokens at once x " +
               decimal_text(each / kMibPerGib, 0) + " KiB (as llama.cpp)";
    } else {
        constexpr double kGraphsGib = 0.25;
        constexpr double kCommunicationGib = 1;
        constexpr double kInner = 10.5;  // three values of the MLP, each 3.5 times the hidden size
        constexpr double kSequences = 256;
        constexpr double kScore = 8;  // bytes: in 32 bits, and sorted
        const double each = 2.0 * shape.hidden * (2 + kInner / gpus);
        bytes += kGraphsGib * kGib + tokens * each + kSequences * kScore * shape.vocabulary;
        how += " + 0.25 GiB CUDA graphs";
        if (load.gpus > 1) {
            bytes += kCommunicationGib * kGib;
            how += " + 1 GiB communication";
        }
        how += " + " + decimal_text(tokens) + " tokens at once x " +
               decimal_text(each / kMibPerGib, 0) + " KiB";
        if (shape.vocabulary > 0) {
            how += " + 256 x " + decimal_text(shape.vocabulary, 0) + " scores x 8 B";
        }
    }
    if (load.gpus > 1) how += ", on each of " + std::to_string(load.gpus);
    add(need, "working space", bytes * gpus, bytes, std::move(how));
}

void estimate_inference(Need& need, const ModelShape& shape, const Load& load) {
    const double weights = weight_bytes(shape, load.dtype);
    add(need, "weights", weights, weights / load.gpus, weight_arithmetic(shape, load.dtype));
    if (shape.working_mib > 0) {
        const double working = shape.working_mib / kMibPerGib * kGib;
        add(need, "working space", working * load.gpus, working,
            decimal_text(shape.working_mib) + " MiB (table, an estimate)");
        const double items = shape.item_mib / kMibPerGib * kGib * load.batch;
        add(need, "batch", items, items / load.gpus,
            decimal_text(load.batch) + " x " + decimal_text(shape.item_mib) +
                " MiB (table, an estimate)");
        return;
    }
    add_embeddings(need, shape, load);
    add_serving(need, shape, load);
    add_cache(need, shape, load);
}

struct OptimizerBytes {
    double state = 0;      // per parameter, master copy included
    std::string_view how;  // "fp32 master 4 + m 4 + v 4"
};

OptimizerBytes optimizer_bytes(Optimizer optimizer) {
    switch (optimizer) {
        case Optimizer::kAdam:
            return {12, "fp32 master 4 + m 4 + v 4"};
        case Optimizer::kAdam8bit:
            return {6, "fp32 master 4 + m 1 + v 1"};
        case Optimizer::kSgdMomentum:
            return {8, "fp32 master 4 + momentum 4"};
        case Optimizer::kAdafactor:
            break;
    }
    return {6, "fp32 master 4 + factored moments about 2"};
}

/// Activations of one step on one GPU, in bytes; the batch is that of one GPU.
double activation_bytes(const ModelShape& shape, const Load& load, double context) {
    const double s = context;
    const double b = load.batch;
    const double h = shape.hidden;
    const double a = shape.heads;
    constexpr double kPerValue = 34;
    switch (load.checkpointing) {
        case Checkpointing::kNone:
            return shape.layers * s * b * h * (kPerValue + 5 * a * s / h);
        case Checkpointing::kSelective:
            return shape.layers * s * b * h * kPerValue;
        case Checkpointing::kFull:
            break;
    }
    return shape.layers * 2 * s * b * h + s * b * h * kPerValue;
}

std::string activation_arithmetic(const ModelShape& shape, const Load& load, double context) {
    const std::string size = decimal_text(context) + " tokens x batch " + decimal_text(load.batch) +
                             " x hidden " + std::to_string(shape.hidden);
    const std::string layers = std::to_string(shape.layers) + " layers x ";
    switch (load.checkpointing) {
        case Checkpointing::kNone:
            return layers + size + " x (34 + 5 x " + std::to_string(shape.heads) + " heads x " +
                   decimal_text(context) + " / " + std::to_string(shape.hidden) + ") B";
        case Checkpointing::kSelective:
            return layers + size + " x 34 B (selective checkpointing)";
        case Checkpointing::kFull:
            break;
    }
    return layers + size + " x 2 B + one layer of 34 B (full checkpointing)";
}

void add_activations(Need& need, const ModelShape& shape, const Load& load) {
    if (shape.layers == 0 || shape.hidden == 0) {
        need.notes.push_back("activations are not in the sum: the shape of the model is not known");
        need.certainty = Certainty::kGuessed;
        return;
    }
    const double bytes = activation_bytes(shape, load, need.context);
    std::string how = activation_arithmetic(shape, load, need.context);
    if (load.gpus > 1) how += " x " + std::to_string(load.gpus) + " GPUs";
    add(need, "activations", bytes * load.gpus, bytes, how);
}

/// Scores of all tokens, as the loss takes them: in 16 and 32 bits, and their gradient.
void add_logits(Need& need, const ModelShape& shape, const Load& load) {
    if (shape.vocabulary == 0) return;
    constexpr double kBytes = 10;
    const double bytes = need.context * load.batch * shape.vocabulary * kBytes;
    add(need, "logits", bytes * load.gpus, bytes,
        decimal_text(need.context) + " tokens x batch " + decimal_text(load.batch) + " x " +
            decimal_text(shape.vocabulary, 0) + " words x 10 B" +
            (load.gpus > 1 ? " x " + std::to_string(load.gpus) + " GPUs" : ""));
}

void add_context_and_slack(Need& need, unsigned gpus) {
    const double context = kContextGib * kGib;
    add(need, "CUDA context", context * gpus, context, std::to_string(gpus) + " x 0.6 GiB");
    constexpr double kSlack = 0.05;
    double sum = 0;
    double per_gpu = 0;
    for (const Term& term : need.terms) {
        sum += term.gib;
        per_gpu += term.per_gpu_gib;
    }
    add(need, "allocator slack", sum * kSlack * kGib, per_gpu * kSlack * kGib,
        "5 % of " + gib_text(sum));
}

void estimate_full_training(Need& need, const ModelShape& shape, const Load& load) {
    const bool fp32 = load.dtype == Dtype::kFp32;
    const double p = shape.parameters;
    const double n = load.gpus;
    const OptimizerBytes optimizer = optimizer_bytes(load.optimizer);
    const double weights = fp32 ? 4 : 2;
    const double gradients = fp32 || load.fp32_gradients ? 4 : 2;
    const double state = fp32 ? optimizer.state - 4 : optimizer.state;  // fp32 is its own master
    const auto parted = [&](unsigned stage, double bytes) {
        return n > 1 && load.zero_stage >= stage ? bytes / n : bytes;
    };
    const auto term = [&](const std::string& name, unsigned stage, double bytes,
                          const std::string& how) {
        const double one = parted(stage, p * bytes);
        const bool spread = n > 1 && load.zero_stage >= stage;
        add(need, name, spread || n == 1 ? p * bytes : p * bytes * n, one,
            billions(p) + " x " + decimal_text(bytes) + " B" + how +
                (n == 1   ? ""
                 : spread ? ", spread over " + decimal_text(n) + " GPUs (ZeRO)"
                          : " on each of " + decimal_text(n) + " GPUs"));
    };
    term("weights", 3, weights, fp32 ? " (fp32)" : " (16-bit)");
    term("gradients", 2, gradients, gradients > 2 ? " (fp32)" : " (16-bit)");
    term("optimizer", 1, state, fp32 ? " (moments)" : " (" + std::string(optimizer.how) + ")");
    add_activations(need, shape, load);
    add_logits(need, shape, load);
    add_context_and_slack(need, load.gpus);
    const double sum = weights + gradients + state;
    need.notes.push_back("used: " + decimal_text(sum) + " B per parameter = " +
                         gib_text(p * sum / kGib) + " for weights, gradients and optimizer");
    constexpr double kRule = 8;  // 4 x 2 bytes
    need.notes.push_back("not used: the rule '4 x 16-bit weights' = " + gib_text(p * kRule / kGib) +
                         "; it leaves out the fp32 copies that mixed precision keeps");
}

void estimate_adapter_training(Need& need, const ModelShape& shape, const Load& load) {
    constexpr double kAdapterBytes = 16;
    constexpr double kQlora = 0.55;
    const bool quantized = load.task == Task::kTrainQlora;
    const double n = load.gpus;
    const double weights = quantized ? shape.parameters * kQlora : weight_bytes(shape, load.dtype);
    const bool spread = load.gpus > 1 && load.zero_stage >= 3;
    add(need, "weights", spread ? weights : weights * n, spread ? weights / n : weights,
        quantized ? billions(shape.parameters) + " parameters x 0.55 B (4-bit with scales)"
                  : weight_arithmetic(shape, load.dtype));
    add_embeddings(need, shape, load);
    const double trainable = shape.parameters * load.lora_percent / kPercent;
    add(need, "adapters", trainable * kAdapterBytes * n, trainable * kAdapterBytes,
        decimal_text(load.lora_percent) + " % of the parameters = " +
            decimal_text(trainable / 1e6, 1) + " M x 16 B (weights, gradients, Adam)");
    add_activations(need, shape, load);
    add_logits(need, shape, load);
    add_context_and_slack(need, load.gpus);
}

/// What the sum takes for granted. The percentages are those of the published figures that the tests hold.
std::string assumptions(const ModelShape& shape, const Load& load, const Need& need) {
    std::string text = load.task == Task::kTrainQlora ? "4-bit" : std::string(to_text(load.dtype));
    text += " weights";
    const bool decodes = shape.has_cache() && load.task == Task::kInference;
    if (decodes) text += ", " + std::string(to_text(load.cache_dtype)) + " cache";
    if (shape.working_mib == 0) text += ", " + decimal_text(need.context) + " tokens";
    text += ", batch " + decimal_text(load.batch);
    if (load.task != Task::kInference) return text + ", PyTorch with fused attention";
    if (shape.working_mib > 0) return text + ", one process";
    return text +
           (by_llama_cpp(shape, load.dtype) ? ", llama.cpp or Ollama" : ", a server such as vLLM") +
           (shape.certainty == Certainty::kGuessed ? ""
                                                   : "; within 20 % of 41 of 42 published figures");
}

std::string check(const Load& load) {
    constexpr double kMostTokens = 1e8;
    constexpr double kMostBatch = 1e6;
    constexpr unsigned kMostGpus = 4096;
    if (!(load.batch >= 1 && load.batch <= kMostBatch)) return "batch: 1 to 1000000 is expected";
    if (!(load.context >= 0 && load.context <= kMostTokens)) {
        return "context: 1 to 100000000 tokens are expected";
    }
    if (load.gpus < 1 || load.gpus > kMostGpus) return "gpus: 1 to 4096 are expected";
    if (load.zero_stage > 3) return "zero: a stage of 0 to 3 is expected";
    if (!(load.lora_percent > 0 && load.lora_percent <= 100)) {
        return "lora-percent: above 0 and at most 100 is expected";
    }
    return {};
}

}  // namespace

double Need::of(std::string_view term) const {
    const auto found = std::ranges::find(terms, term, &Term::name);
    return found == terms.end() ? 0 : found->gib;
}

std::string_view to_text(Task task) {
    constexpr std::array<std::string_view, 4> kWords{"inference", "full training", "LoRA training",
                                                     "QLoRA training"};
    return kWords[static_cast<std::size_t>(task)];
}

double weight_bytes(const ModelShape& shape, Dtype dtype) {
    if (dtype == Dtype::kShipped && shape.weight_bytes > 0) return shape.weight_bytes;
    return shape.parameters * bytes_per_parameter(dtype);
}

Dtype usual_dtype(const ModelShape& shape) {
    if (shape.format) return *shape.format;
    return shape.weight_bytes > 0 ? Dtype::kShipped : Dtype::kBf16;
}

Result<Need> estimate_memory(const ModelShape& shape, const Load& load) {
    const std::string problem = check(load);
    if (!problem.empty()) return Error{ErrorCode::kInvalidInput, problem};
    Need need;
    need.certainty = shape.certainty;
    constexpr double kUsualContext = 4096;
    need.context = load.context;
    if (need.context == 0) {
        need.context =
            shape.context > 0 ? std::min<double>(shape.context, kUsualContext) : kUsualContext;
    }
    if (shape.context > 0 && need.context > shape.context) {
        need.notes.push_back(shape.name + " was made for at most " + std::to_string(shape.context) +
                             " tokens, " + decimal_text(need.context) + " were asked");
    }
    switch (load.task) {
        case Task::kInference:
            estimate_inference(need, shape, load);
            break;
        case Task::kTrainFull:
            estimate_full_training(need, shape, load);
            break;
        case Task::kTrainLora:
        case Task::kTrainQlora:
            estimate_adapter_training(need, shape, load);
            break;
    }
    if (shape.parameters > shape.active_parameters && shape.active_parameters > 0) {
        need.notes.push_back("all experts are resident: " + billions(shape.parameters) +
                             " parameters in memory, " + billions(shape.active_parameters) +
                             " at work for a token");
    }
    need.assumed = assumptions(shape, load, need);
    sum_up(need);
    return need;
}

}  // namespace aliquot::sizing
