// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Does a text ask for a GPU? Judges free text and files by named, weighted evidence.
namespace aliquot::detect {

enum class Label : std::uint8_t { kCpu, kGpu, kOptional };

/// What a text is; kUnknown asks for sniffing.
enum class Kind : std::uint8_t {
    kUnknown,
    kText,
    kRequirements,  // requirements.txt, pyproject.toml, conda environments, lock files
    kDockerfile,
    kManifest,  // Kubernetes, compose
    kCode,
    kCommand,  // shell
};

/// Where a piece of evidence comes from; `docs/guide/detect.md` explains each.
enum class Source : std::uint8_t {
    kAsk,        // a GPU asked for by name and number: nvidia.com/gpu, --gpus, --gres
    kHardware,   // GPU, CUDA, VRAM, names of cards
    kStack,      // software that has no use without a GPU: vLLM, DeepSpeed, CuPy
    kFramework,  // PyTorch, TensorFlow, JAX: most often with a GPU
    kModel,      // Llama, Whisper, YOLO
    kTask,       // fine-tuning, segmentation
    kScale,      // epochs, billions of parameters
    kCpu,        // CPU wheels, "CPU only"
    kClassic,    // scikit-learn, ARIMA
    kEdge,       // Raspberry Pi, browser, phone
    kRemote,     // the model runs at someone else's
    kOptional,   // "if available", "falls back to CPU"
    kSmall,      // "one user", "ten a day"
    kWord,       // any other word that the model has a weight for
    kContext,    // no evidence
};

/// Why a weight is not the one of the table.
enum class Scope : std::uint8_t {
    kPlain,
    kNegated,
    kMeta,        // the text is about GPUs, it does not use one
    kElsewhere,   // the model runs remotely
    kComment,     // a line that is commented out
    kSwitchedOff  // the value behind it is 0, false, empty
};

struct Evidence {
    std::size_t start = 0;  // bytes, in the text as given
    std::size_t end = 0;    // one past the last byte
    double weight = 0;      // log-odds that it adds to the score
    Source source = Source::kContext;
    Scope scope = Scope::kPlain;
};

/// What the evidence says of the GPUs; nothing where it says nothing.
struct Need {
    std::optional<unsigned> count;     // nothing: several, and no number is said
    std::optional<double> memory_gib;  // of one GPU
    std::string type;                  // "a100", "rtx-3090"; empty: unknown
    std::string count_reason;          // "stated", or why so many
    std::string memory_reason;         // the arithmetic of an estimate, or "stated"
};

struct Verdict {
    Label label = Label::kCpu;
    Kind kind = Kind::kText;
    double score = 0;                // log-odds: bias plus the weights of the evidence
    double bias = 0;                 // what no piece of the evidence below accounts for
    double confidence = 0;           // that the label is right, 0..1
    std::vector<Evidence> evidence;  // strongest first, at most kMostEvidence
    Need need;
    bool cut = false;  // only the head of the text was read: it has too many bytes or known words
};

inline constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
inline constexpr std::size_t kMostEvidence = 24;

/// Judges one text. Any bytes; linear time; never fails.
///
/// kind     kUnknown: sniffed from the content
/// thread   safe; keeps a buffer per thread
Verdict detect(std::string_view text, Kind kind = Kind::kUnknown);

/// The plain detector: substrings, and always a GPU in `need` (count, type, and the host memory it
/// asks for). Kept bit by bit, for those who compare. Its evidence has weight 1 for each keyword.
Verdict detect_keywords(std::string_view text);

/// The names of the features that the model sees in a text, each once, in order; for fitting.
std::vector<std::string> feature_names(std::string_view text, Kind kind = Kind::kUnknown);

/// What a file is, from its name ("" when it has none) and its content.
Kind sniff_kind(std::string_view name, std::string_view text);

/// One line of `--lines` as the text it stands for: \t, \n, \r and \\; another backslash stays.
std::string unescape_line(std::string_view line);

/// One JSON object without a line break. Bytes that are no UTF-8 become U+FFFD.
std::string to_json_line(const Verdict& verdict, std::string_view text);

std::string_view name_of(Label label);
std::string_view name_of(Kind kind);
std::string_view name_of(Source source);
std::string_view name_of(Scope scope);

}  // namespace aliquot::detect
