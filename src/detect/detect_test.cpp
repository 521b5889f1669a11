// SPDX-License-Identifier: Apache-2.0
#include "detect/detect.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>

namespace aliquot::detect {
namespace {

std::string label_of(std::string_view text) { return std::string(name_of(detect(text).label)); }

TEST(Detect, CallsATextWithoutEvidenceCpuWithItsBiasAsScore) {
    const Verdict verdict = detect("Send the monthly letters");
    EXPECT_EQ(verdict.label, Label::kCpu);
    EXPECT_TRUE(verdict.evidence.empty());
    EXPECT_DOUBLE_EQ(verdict.score, verdict.bias);
    EXPECT_GT(verdict.confidence, 0.5);
}

TEST(Detect, ShowsEvidenceThatAddsUpToTheScore) {
    for (const char* text : {"Fine-tune a 7B model with LoRA on two A100 80GB", "No GPU needed",
                             "FROM nvidia/cuda:12.4.1-base\nRUN pip install torch vllm",
                             "XGBoost on a 3 MB table, CPU only"}) {
        const Verdict verdict = detect(text);
        ASSERT_FALSE(verdict.evidence.empty()) << text;
        const double sum =
            std::accumulate(verdict.evidence.begin(), verdict.evidence.end(), verdict.bias,
                            [](double so_far, const Evidence& one) { return so_far + one.weight; });
        EXPECT_NEAR(sum, verdict.score, 1e-9) << text;
        for (const Evidence& one : verdict.evidence) EXPECT_LT(one.start, one.end);
    }
}

TEST(Detect, SaysWhereItsEvidenceStands) {
    const std::string text = "Needs one H100, please";
    const Verdict verdict = detect(text);
    ASSERT_FALSE(verdict.evidence.empty());
    const Evidence& first = verdict.evidence.front();
    EXPECT_EQ(text.substr(first.start, first.end - first.start), "H100");
}

TEST(Detect, TurnsEvidenceRoundWhereItIsDenied) {
    EXPECT_EQ(label_of("This service needs a GPU"), "gpu");
    EXPECT_EQ(label_of("This service does not need a GPU"), "cpu");
    EXPECT_EQ(label_of("This service cannot run without a GPU"), "gpu");
    EXPECT_EQ(label_of("A GPU is not needed"), "cpu");
    EXPECT_EQ(label_of("No dashboards but a GPU"), "gpu");
    EXPECT_EQ(label_of("Not only one GPU"), "gpu");
}

TEST(Detect, KnowsWordsOnlyByTheirWholeLength) {
    for (const char* text : {"barracuda", "recvmsg", "gpupdate", "cvs", "nlpd", "restraining"}) {
        EXPECT_TRUE(detect(text).evidence.empty()) << text;
    }
}

TEST(Detect, ReadsSwitchesWithTheirValue) {
    EXPECT_EQ(label_of("python run.py --num-gpus 2"), "gpu");
    EXPECT_EQ(label_of("python run.py --num-gpus 0"), "cpu");
    EXPECT_EQ(label_of("CUDA_VISIBLE_DEVICES=0 python run.py"), "gpu");
    EXPECT_EQ(label_of("CUDA_VISIBLE_DEVICES= python run.py"), "cpu");
    EXPECT_EQ(label_of("CUDA_VISIBLE_DEVICES=-1 python run.py"), "cpu");
}

TEST(Detect, PassesOverLinesThatAreCommentedOut) {
    EXPECT_EQ(label_of("flask==3.0\n# torch==2.3\nrequests==2.32"), "cpu");
    EXPECT_EQ(label_of("flask==3.0\ntorch==2.3\nrequests==2.32"), "gpu");
}

TEST(Detect, ReadsCountTypeAndMemory) {
    struct Row {
        const char* text;
        unsigned count;
        const char* type;
        double memory;
    };
    for (const Row& row :
         {Row{"Train on 4x A100 80GB", 4, "a100", 80}, Row{"eight H100 cards", 8, "h100", 0},
          Row{"torchrun --nproc_per_node=8 train.py", 8, "", 0},
          Row{"vllm serve m --tensor-parallel-size 2", 2, "", 0},
          Row{"limits:\n  nvidia.com/gpu: \"2\"", 2, "", 0},
          Row{"Train a model on an RTX 3090 with 24 GB of VRAM", 1, "rtx-3090", 24},
          Row{"srun --gres=gpu:a100:4 python x.py", 4, "a100", 0},
          Row{"The model needs a GPU", 1, "", 0},
          Row{"two 4090s for the CUDA model", 2, "rtx-4090", 0}}) {
        const Need need = detect(row.text).need;
        EXPECT_EQ(need.count.value_or(0), row.count) << row.text;
        EXPECT_EQ(need.type, row.type) << row.text;
        EXPECT_DOUBLE_EQ(need.memory_gib.value_or(0), row.memory) << row.text;
    }
}

TEST(Detect, EstimatesMemoryFromParametersAndShowsTheArithmetic) {
    const Need full = detect("Fine-tune a 7B language model").need;
    EXPECT_NEAR(full.memory_gib.value_or(0), 7e9 * 16 / (1 << 30), 0.1);
    EXPECT_NE(full.memory_reason.find("7 billion parameters x 16 bytes"), std::string::npos);
    const Need served = detect("Serve Llama 3 70B with vLLM").need;
    EXPECT_NEAR(served.memory_gib.value_or(0), 70e9 * 2.4 / (1 << 30), 0.1);
    EXPECT_FALSE(served.count);
    EXPECT_FALSE(detect("Run a GPU job on CUDA").need.memory_gib);
}

TEST(Detect, IsOptionalWhereTheTextSaysSo) {
    EXPECT_EQ(label_of("Uses a GPU if available, else the CPU"), "optional");
    EXPECT_EQ(label_of("The GPU is optional"), "optional");
}

TEST(Detect, TakesAnyBytesAndReadsOneMebibyteAtMost) {
    std::string bytes(10'000'000, '\0');
    std::uint32_t state = 1;
    for (char& byte : bytes)
        byte = static_cast<char>((state = state * 1664525U + 1013904223U) >> 24U);
    EXPECT_TRUE(detect(bytes).cut);
    EXPECT_TRUE(detect_legacy(bytes).cut);
    for (const char* piece :
         {"no gpu ", "without ", "gpu", "4x", "\n", "nvidia.com/gpu: ", "\xE2\x80", "#", "7b "}) {
        std::string text;
        while (text.size() < 150'000) text += piece;
        const Verdict verdict = detect(text);
        EXPECT_LE(verdict.evidence.size(), kMostEvidence);
        for (const Evidence& one : verdict.evidence) EXPECT_LE(one.end, kMostBytes);
    }
    EXPECT_FALSE(detect(std::string_view(bytes).substr(0, kMostBytes)).cut);
}

TEST(Line, IsUnescapedOnceAndKeepsOtherBackslashes) {
    EXPECT_EQ(unescape_line("a\\tb\\nc\\\\d"), "a\tb\nc\\d");
    EXPECT_EQ(unescape_line("\\\\n"), "\\n");
    EXPECT_EQ(unescape_line("\\x\\"), "\\x\\");
    EXPECT_EQ(unescape_line(""), "");
}

TEST(Line, AnswersWithOneJsonObjectWhateverTheBytes) {
    EXPECT_EQ(to_json_line(detect("plain letters"), "plain letters")
                  .rfind("{\"label\":\"cpu\",\"gpu_count\":null,\"gpu_memory_gib\":null,\"gpu_"
                         "type\":null,\"confidence\":",
                         0),
              0U);
    const std::string text = "a \"GPU\"\xFF\n is needed";
    const std::string line = to_json_line(detect(text), text);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_NE(line.find("\"label\":\"gpu\""), std::string::npos);
    const std::string old = to_json_line(detect_legacy("billion"), "billion");
    EXPECT_NE(old.find("\"gpu_count\":4,\"gpu_memory_gib\":64,\"gpu_type\":\"a100\""),
              std::string::npos);
}

TEST(Kind, IsSeenInNameAndContent) {
    EXPECT_EQ(sniff_kind("dir/Dockerfile.gpu", ""), Kind::kDockerfile);
    EXPECT_EQ(sniff_kind("requirements-dev.txt", ""), Kind::kRequirements);
    EXPECT_EQ(sniff_kind("pyproject.toml", ""), Kind::kRequirements);
    EXPECT_EQ(sniff_kind("a/train.py", ""), Kind::kCode);
    EXPECT_EQ(sniff_kind("run.sh", ""), Kind::kCommand);
    EXPECT_EQ(sniff_kind("", "FROM debian\nRUN true"), Kind::kDockerfile);
    EXPECT_EQ(sniff_kind("", "torch==2.1\nnumpy"), Kind::kRequirements);
    EXPECT_EQ(sniff_kind("x.yaml", "apiVersion: v1\nkind: Pod\n"), Kind::kManifest);
    EXPECT_EQ(sniff_kind("", "import torch\nx = torch.ones(3)"), Kind::kCode);
    EXPECT_EQ(sniff_kind("", "docker run --gpus all x"), Kind::kCommand);
    EXPECT_EQ(sniff_kind("", "We would like to have a page"), Kind::kText);
}

}  // namespace
}  // namespace aliquot::detect
