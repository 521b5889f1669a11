// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/job_advice.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/sentence.h"
#include "detect/detect.h"

namespace aliquot::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostWordsRead = 8;
constexpr double kSure = 0.9;

/// The text of a file that a person may have written; empty: it is none.
std::string script(const std::string& word, const std::string& directory) {
    std::error_code problem;
    const fs::path file = fs::path(directory) / word;
    if (!fs::is_regular_file(file, problem)) return {};
    std::ifstream in(file, std::ios::binary);
    std::string text(detect::kMostBytes, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
    return text.contains('\0') ? std::string() : text;  // a binary
}

}  // namespace

std::string gpu_advice(const jobs::Request& request) {
    const std::size_t most = std::min(request.command.size(), kMostWordsRead);
    for (std::size_t i = 0; i < most; ++i) {
        const std::string& word = request.command[i];
        const std::string text = script(word, request.workdir);
        if (text.empty()) continue;
        const detect::Verdict verdict = detect::detect(text, detect::sniff_kind(word, text));
        const std::string name = one_line(word, 80);
        const std::string more = "; aliquot detect " + name + " says why";
        if (verdict.confidence < kSure) return {};
        if (verdict.label == detect::Label::kCpu)
            return name + " does not seem to use a GPU, and gets one, as none was named" + more;
        if (verdict.label != detect::Label::kGpu) return {};
        if (verdict.need.count.value_or(1) > 1) {
            return name + " seems to use " + std::to_string(*verdict.need.count) +
                   " GPUs, and gets one, as none was named: --gpu " +
                   std::to_string(*verdict.need.count) + more;
        }
        if (!verdict.need.memory_gib) return {};
        return name + " seems to need about " +
               std::to_string(static_cast<unsigned>(std::ceil(*verdict.need.memory_gib))) +
               " GiB of GPU memory, and gets a whole GPU: a share starts sooner (--gpu-memory)" +
               more;
    }
    return {};
}

}  // namespace aliquot::cli
