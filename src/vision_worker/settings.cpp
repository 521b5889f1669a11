// SPDX-License-Identifier: Apache-2.0
#include "vision_worker/settings.h"

#include "base/number.h"
#include "base/text.h"
#include "base/time_text.h"
#include "command_line/command.h"
#include "http/address.h"
#include "k8s/memory_amount.h"

namespace aliquot::vision_worker {
namespace {

using command_line::UsageError;
using Environment = std::map<std::string, std::string>;

constexpr int kExitUsage = 2;
constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;

/// Options as they are written.
struct Texts {
    std::string task = "auto";
    std::string layout = "auto";
    std::string provider = "auto";
    std::string gpu_memory;
    std::string batch_wait = "2ms";
    std::string timeout = "10s";
    std::string run_limit;  // empty: as the timeout
    std::string most_body = "16Mi";
    std::string mean;
    std::string deviation;
    double confidence = 0.25;
    double overlap = 0.45;
};

std::string value_of(const Environment& environment, const std::string& name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
}

/// Before the options are read, so that they win.
void read_environment(const Environment& environment, Settings& settings, Texts& texts) {
    const auto take = [&](const char* name, std::string& to) {
        if (std::string value = value_of(environment, name); !value.empty()) to = std::move(value);
    };
    take("ALIQUOT_VISION_MODEL", settings.model);
    take("ALIQUOT_VISION_LISTEN", settings.listen);
    take("ALIQUOT_VISION_LABELS", settings.labels);
    take("ALIQUOT_VISION_PROVIDER", texts.provider);
    take("ALIQUOT_VISION_BATCH_WAIT", texts.batch_wait);
    take("ALIQUOT_VISION_GPU_MEMORY_LIMIT", texts.gpu_memory);
    take("ORT_DYLIB_PATH", settings.library);
    const char* const mib = "CAT_WATCHER__INFERENCE__GPU_MEMORY_LIMIT";
    if (const std::string value = value_of(environment, mib);
        texts.gpu_memory.empty() && !value.empty()) {
        const auto number = parse_number<std::uint64_t>(value);
        if (!number || *number == 0 || *number > (std::uint64_t{1} << 30U)) {
            throw UsageError(mib, "'" + value + "' is not a number of MiB, as 2048");
        }
        settings.gpu_memory_bytes = *number * kMib;
    }
    if (const std::string value = value_of(environment, "ALIQUOT_VISION_BATCH"); !value.empty()) {
        const auto number = parse_number<std::size_t>(value);
        if (!number || *number > 1024)
            throw UsageError("ALIQUOT_VISION_BATCH", "'" + value + "' is not 0 to 1024");
        settings.most_batch = *number;
    }
    if (!value_of(environment, "TF_FORCE_GPU_ALLOW_GROWTH").empty()) {
        settings.notes.emplace_back(
            "TF_FORCE_GPU_ALLOW_GROWTH is for TensorFlow and means nothing here: memory is taken "
            "as it is needed, up to "
            "the limit");
    }
}

void add_model_options(command_line::Command& app, Settings& settings, Texts& texts) {
    app.add_option("--model", settings.model,
                   "ONNX file of a detector (YOLO) or a classifier [ALIQUOT_VISION_MODEL]", "FILE");
    app.add_option("--task", texts.task,
                   "what the model does; auto: by what it says and by its output",
                   "TASK (auto, detect, classify)")
        ->one_of({"auto", "detect", "classify"});
    app.add_option("--labels", settings.labels,
                   "names of the classes, one a line [ALIQUOT_VISION_LABELS]", "FILE");
    app.add_option("--layout", texts.layout, "how a detector's output lies; auto: by its shape",
                   "LAYOUT (auto, box-rows, channels, final)")
        ->one_of({"auto", "box-rows", "channels", "final"});
    app.add_option("--side", settings.side,
                   "side of the input in pixels, where the model leaves it free",
                   "PIXELS (imgsz of the model; 640; classifier 224)")
        ->range(0U, 4096U);
    app.add_option("--mean", texts.mean,
                   "taken off the colours (0 to 1): R,G,B; a classifier of torchvision wants "
                   "0.485,0.456,0.406",
                   "R,G,B (0,0,0)");
    app.add_option("--deviation", texts.deviation, "and divided by; torchvision: 0.229,0.224,0.225",
                   "R,G,B (1,1,1)");
    app.add_option("--confidence", texts.confidence, "least score of a box", "0..1 (0.25)")
        ->range(0.0, 1.0);
    app.add_option("--overlap", texts.overlap,
                   "of two boxes of a class that overlap more the better stays", "0..1 (0.45)")
        ->range(0.0, 1.0);
}

void add_device_options(command_line::Command& app, Settings& settings, Texts& texts) {
    app.add_option(
           "--provider", texts.provider,
           "what runs the model; auto: TensorRT, else CUDA, else the CPU [ALIQUOT_VISION_PROVIDER]",
           "PROVIDER (auto, tensorrt, cuda, cpu)")
        ->one_of({"auto", "tensorrt", "cuda", "cpu"});
    app.add_option(
        "--gpu-memory-limit", texts.gpu_memory,
        "GPU memory it may use; without, what the driver (or the guard in front of it) tells\n"
        "[ALIQUOT_VISION_GPU_MEMORY_LIMIT; CAT_WATCHER__INFERENCE__GPU_MEMORY_LIMIT in MiB]",
        "SIZE");
    app.add_option("--device", settings.device, "index of the GPU among those that are visible",
                   "N (0)")
        ->range(0U, 63U);
    app.add_option("--onnxruntime", settings.library, "ONNX Runtime's library [ORT_DYLIB_PATH]",
                   "FILE (libonnxruntime.so.1)");
    app.add_option("--engine-cache", settings.engine_cache, "where TensorRT keeps its engines",
                   "DIR");
    app.add_flag("--half", settings.half_precision, "let TensorRT compute with 16 bits");
    app.add_option("--threads", settings.threads, "CPU threads; 0: the cores that it may use",
                   "N (0)")
        ->range(0, 256);
}

void add_service_options(command_line::Command& app, Settings& settings, Texts& texts) {
    app.add_option("--listen", settings.listen, "where to answer HTTP [ALIQUOT_VISION_LISTEN]",
                   "ADDRESS:PORT (:8000)");
    app.add_option("--batch", settings.most_batch,
                   "most pictures at once; 0: by the memory [ALIQUOT_VISION_BATCH]", "N (0)")
        ->range(std::uint64_t{0}, std::uint64_t{1024});
    app.add_option(
        "--batch-wait", texts.batch_wait,
        "how long the first picture of a batch waits for company [ALIQUOT_VISION_BATCH_WAIT]",
        "TIME (2ms)");
    app.add_option("--most-waiting", settings.most_waiting,
                   "pictures that may wait; a further one is answered 503", "N (1024)")
        ->range(std::uint64_t{1}, std::uint64_t{100'000});
    app.add_option("--timeout", texts.timeout,
                   "how long a picture may take before it is answered 504", "TIME (10s)");
    app.add_option(
        "--run-limit", texts.run_limit,
        "how long the device may take for a batch before it counts as hung: what waits is "
        "answered 503,\n/readyz is 503, and after six times as long /healthz",
        "TIME (as --timeout)");
    app.add_option("--most-body", texts.most_body, "largest request", "SIZE (16Mi)");
    app.add_option("--folder", settings.folder,
                   "look at the pictures of a folder instead of serving, and end", "DIR");
    app.add_option("--results", settings.results,
                   "where a folder's results go, a JSON object a line", "FILE (-)");
    app.add_option("--bench", settings.bench_seconds, "measure the model so many seconds, and end",
                   "SECONDS")
        ->range(0.1, 600.0);
}

std::vector<double> numbers_of(const char* flag, const std::string& text) {
    if (text.empty()) return {};
    std::vector<double> numbers;
    for (const std::string_view part : split_list(text)) {
        const auto number = parse_decimal(part);
        if (!number) throw UsageError(flag, "'" + text + "' is not three numbers, as 0.5,0.5,0.5");
        numbers.push_back(*number);
    }
    if (numbers.size() != 3)
        throw UsageError(flag, "'" + text + "' is not three numbers, as 0.5,0.5,0.5");
    return numbers;
}

std::chrono::milliseconds time_of(const char* flag, const std::string& text,
                                  std::chrono::milliseconds most) {
    const auto time = parse_duration(text);
    if (!time || *time > most) {
        throw UsageError(flag, "'" + text + "' is not a time up to " +
                                   std::to_string(most.count()) + "ms, as 5ms or 2s");
    }
    return *time;
}

std::uint64_t size_of(const char* flag, const std::string& text) {
    const auto size = k8s::parse_bytes(text);
    if (!size) throw UsageError(flag, size.error().message);
    return *size;
}

void check_model(const std::string& model) {
    if (model.empty()) throw UsageError("--model", "is needed: the ONNX file to serve");
    const struct {
        const char* end;
        const char* advice;
    } others[] = {{".engine",
                   "is an engine of TensorRT, which fits one GPU only; give the .onnx file and "
                   "--engine-cache DIR"},
                  {".pt", "is a checkpoint of PyTorch; export it to ONNX first"},
                  {".pth", "is a checkpoint of PyTorch; export it to ONNX first"},
                  {".tflite", "is a model of TensorFlow Lite; export it to ONNX first"}};
    for (const auto& other : others) {
        if (model.ends_with(other.end))
            throw UsageError("--model", "'" + model + "' " + other.advice);
    }
}

void finish(const Texts& texts, Settings& settings) {
    using onnx::Provider;
    check_model(settings.model);
    settings.task = texts.task == "detect"     ? Task::kDetect
                    : texts.task == "classify" ? Task::kClassify
                                               : Task::kAuto;
    settings.layout = *vision::parse_layout(texts.layout);
    settings.gpu_wanted = texts.provider == "cuda" || texts.provider == "tensorrt";
    if (texts.provider == "cpu") settings.providers = {Provider::kCpu};
    if (texts.provider == "cuda") settings.providers = {Provider::kCuda};
    if (texts.provider == "tensorrt") settings.providers = {Provider::kTensorRt};
    if (!settings.gpu_wanted && texts.provider != "cpu" && texts.provider != "auto") {
        throw UsageError("ALIQUOT_VISION_PROVIDER",
                         "'" + texts.provider + "'; expected auto, tensorrt, cuda or cpu");
    }
    settings.mean = numbers_of("--mean", texts.mean);
    settings.deviation = numbers_of("--deviation", texts.deviation);
    for (const double part : settings.deviation) {
        if (part <= 0)
            throw UsageError("--deviation",
                             "'" + texts.deviation + "' has a number that is not above 0");
    }
    settings.limits.confidence = static_cast<float>(texts.confidence);
    settings.limits.overlap = static_cast<float>(texts.overlap);
    if (!texts.gpu_memory.empty())
        settings.gpu_memory_bytes = size_of("--gpu-memory-limit", texts.gpu_memory);
    settings.batch_wait = time_of("--batch-wait", texts.batch_wait, std::chrono::seconds(10));
    settings.timeout = time_of("--timeout", texts.timeout, std::chrono::minutes(10));
    if (settings.timeout < std::chrono::milliseconds(10))
        throw UsageError("--timeout", "is below 10ms");
    settings.run_limit = settings.timeout;
    if (!texts.run_limit.empty())
        settings.run_limit = time_of("--run-limit", texts.run_limit, std::chrono::hours(1));
    if (settings.run_limit < std::chrono::milliseconds(10))
        throw UsageError("--run-limit", "is below 10ms");
    settings.most_body_bytes = size_of("--most-body", texts.most_body);
    if (settings.most_body_bytes < 1024 || settings.most_body_bytes > 256 * kMib) {
        throw UsageError("--most-body", "'" + texts.most_body + "'; expected 1Ki to 256Mi");
    }
    if (const auto known = http::check_address(settings.listen); !known) {
        throw UsageError("--listen", known.error().message);
    }
}

}  // namespace

std::variant<Settings, EarlyExit> read_settings(
    int argc, const char* const* argv, const std::map<std::string, std::string>& environment) {
    Settings settings;
    Texts texts;
    command_line::Command app(
        "Looks at pictures with a detector (YOLO) or a classifier in ONNX: by HTTP, in batches "
        "whose size follows from\n"
        "the memory of its share of a GPU. Uses the ONNX Runtime that is there, on TensorRT, CUDA "
        "or the CPU.\n\n"
        "Signals: SIGTERM and SIGINT end it when what was asked is answered.",
        "aliquot-vision");
    app.set_version_flag("--version", std::string("aliquot-vision ") + ALIQUOT_VERSION);
    app.footer("aliquot-vision --model yolov8n.onnx --listen :8000");
    using Kind = command_line::Parsed::Kind;
    command_line::Parsed parsed;
    try {
        read_environment(environment, settings, texts);
        add_model_options(app, settings, texts);
        add_device_options(app, settings, texts);
        add_service_options(app, settings, texts);
        parsed = app.parse(argc, argv);
        if (parsed.kind == Kind::kRun) finish(texts, settings);
    } catch (const UsageError& problem) {
        parsed = {.kind = Kind::kWrong, .text = problem.what(), .unwanted = {}};
    }
    if (parsed.kind == Kind::kWrong) {
        return EarlyExit{.text = "aliquot-vision: " + parsed.text + "; see aliquot-vision --help\n",
                         .exit_code = kExitUsage,
                         .to_stderr = true};
    }
    if (parsed.kind != Kind::kRun) return EarlyExit{.text = parsed.text};
    return settings;
}

}  // namespace aliquot::vision_worker
