// SPDX-License-Identifier: Apache-2.0
#include "detect/detect.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>

namespace aliquot::detect {
namespace {

std::string label_of(std::string_view text) { return std::string(name_of(detect(text).label)); }

TEST(Detect, SeesAnAskInALongFile) {
    const std::string steps = [] {
        std::string text;
        for (int i = 0; i < 60; ++i) {
            text += "# step " + std::to_string(i) + " of the job\n";
            text += "cp -r $TMPDIR/out" + std::to_string(i) + " $SLURM_SUBMIT_DIR/results\n";
        }
        return text;
    }();
    EXPECT_EQ(detect("#!/bin/bash\n#SBATCH --gres=gpu:2\n" + steps).label, Label::kGpu);
    EXPECT_EQ(detect("#!/bin/bash\n#SBATCH --ntasks=64\n" + steps).label, Label::kCpu);
    EXPECT_EQ(detect("#!/bin/bash\n#SBATCH --gres=gpu:0\n" + steps).label, Label::kCpu);
}

TEST(Detect, CallsATextWithoutWordsCpuWithItsBiasAsScore) {
    EXPECT_EQ(label_of("Send the monthly letters"), "cpu");
    const Verdict verdict = detect("...");
    EXPECT_EQ(verdict.label, Label::kCpu);
    EXPECT_TRUE(verdict.evidence.empty());
    EXPECT_DOUBLE_EQ(verdict.score, verdict.bias);
    EXPECT_GT(verdict.confidence, 0.5);
}

/// The piece of evidence that stands for `words`; nullptr: there is none.
const Evidence* evidence_of(const Verdict& verdict, std::string_view text, std::string_view words) {
    for (const Evidence& one : verdict.evidence) {
        if (text.substr(one.start, one.end - one.start) == words) return &one;
    }
    return nullptr;
}

TEST(Detect, SeesWhichImageAndWhichDeviceALongFileChooses) {
    const std::string steps = [] {
        std::string text;
        for (int i = 0; i < 40; ++i) {
            text += "RUN apt-get install -y lib" + std::to_string(i) + " && rm -rf /var/lib/apt\n";
        }
        return text;
    }();
    const std::string cuda = "FROM nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04\n";
    const std::string slim = "FROM python:3.11-slim\n";
    EXPECT_EQ(detect(cuda + steps).label, Label::kGpu);
    EXPECT_EQ(detect(slim + steps).label, Label::kCpu);
    const std::string built = cuda + "COPY . .\n" + slim + steps;
    const Verdict verdict = detect(built);
    const Evidence* const stage = evidence_of(verdict, built, "nvidia/cuda");
    ASSERT_NE(stage, nullptr);
    EXPECT_EQ(stage->scope, Scope::kMeta);
    EXPECT_EQ(detect("python train.py --device cpu --epochs 1").label, Label::kCpu);
    EXPECT_EQ(detect("OLLAMA_NUM_GPU=0 ollama serve").label, Label::kCpu);
}

TEST(Detect, ReadsTheCountBehindAType) {
    for (const char* text : {"#SBATCH --gres=gpu:a100_80:4\n#SBATCH --time=10:00:00",
                             "#SBATCH --gres=gpu:a100:4\n#SBATCH --mem=90G"}) {
        EXPECT_EQ(detect(text).need.count, 4U) << text;
        EXPECT_EQ(detect(text).label, Label::kGpu) << text;
    }
}

TEST(Detect, KnowsNamesThatStandAgainstLettersOfAnotherScript) {
    constexpr std::string_view kText = "流体計算はCUDA版でお願いします。";
    const Verdict verdict = detect(kText);
    const Evidence* const cuda = evidence_of(verdict, kText, "CUDA");
    ASSERT_NE(cuda, nullptr);
    EXPECT_EQ(cuda->source, Source::kHardware);
}

TEST(Detect, KnowsPhrasesOfOtherAlphabets) {
    constexpr std::string_view kText = "Видеокарта здесь не нужна";
    constexpr std::string_view kSmall = "Нужны две видеокарты до пятницы";
    EXPECT_EQ(label_of(std::string(kText)), "cpu");
    const Verdict verdict = detect(kSmall);
    const Evidence* const card = evidence_of(verdict, kSmall, "видеокарты");
    ASSERT_NE(card, nullptr);
    EXPECT_EQ(card->source, Source::kHardware);
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
    const std::string text = "Needs an H100, please";
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

TEST(Detect, CarriesADenialOverListsAsidesAndSubjects) {
    for (const char* text :
         {"No ROCm, no CUDA, only MPI", "Neither TensorRT nor CUDA is linked",
          "None of the modules here needs PyTorch", "Nothing in this repository uses CUDA",
          "A graphics card, which the old manual asks for, is not needed",
          "The H100 stays with the language group, these are plain CPU tasks",
          "No powerful GPU is required"}) {
        EXPECT_EQ(label_of(text), "cpu") << text;
    }
}

TEST(Detect, EndsADenialWhereSomethingElseIsAskedFor) {
    for (const char* text :
         {"No K80 please, the encoder needs an A100", "No huge GPU needed, an L4 is enough",
          "Never put this service on a CPU node",
          "Three L40S for training and one CPU box for the web front end"}) {
        EXPECT_EQ(label_of(text), "gpu") << text;
    }
    EXPECT_EQ(detect("No K80 please, the encoder needs an A100").need.type, "a100");
}

TEST(Detect, KnowsDenialsInManyDresses) {
    for (const char* text :
         {"There is no reason to give this job a GPU",
          "No point in using CUDA for a sum of 10 rows", "Hardly needs a CPU core, let alone a GPU",
          "Save the GPUs for the vision group", "A GPU would be pointless here",
          "Leave the A100s alone, use the standard pool", "anything but a GPU node",
          "Formerly a GPU job, today a cron script with awk",
          "Ignore the CUDA section of the old README", "Cancel my reservation of 4 x A100",
          "gpus: []", "The A100 nodes are not for these jobs",
          "TensorFlow is banned in this repository", "Ported the filter from CUDA to plain C",
          "We gave up on PyTorch"}) {
        EXPECT_EQ(label_of(text), "cpu") << text;
    }
    for (const char* text :
         {"Cannot proceed until a GPU is free", "The pod will not start unless a GPU is attached",
          "The CPU path is broken, give it a GPU", "CPU does not suffice",
          "CPU is no longer enough for the recogniser", "There's no CPU backend for this kernel"}) {
        EXPECT_EQ(label_of(text), "gpu") << text;
    }
}

TEST(Detect, KnowsTasksOfPerceptionByTheirMedium) {
    for (const char* text :
         {"Track pedestrians in the footage of the tunnel", "Classify 2 million mammograms",
          "Detect cracks in the wind turbines on drone images",
          "Train a ranker on our logs with embeddings", "Blur faces in the live stream"}) {
        EXPECT_EQ(label_of(text), "gpu") << text;
    }
    for (const char* text : {"Track parcels of the wind turbine", "Classify mails by sender",
                             "Split the dataset into train and test rows"}) {
        EXPECT_EQ(label_of(text), "cpu") << text;
    }
}

TEST(Detect, TakesANumberOfTheTableForAnyNumber) {  // "4" stands in "gpt 4" as well
    EXPECT_EQ(detect("python train.py --gpus 4").need.count, 4U);
    EXPECT_EQ(label_of("python train.py --gpus 4"), "gpu");
    EXPECT_EQ(label_of("two cards with 4 GB each"), label_of("two cards with 5 GB each"));
}

TEST(Detect, TakesWhatOthersOrEarlierVersionsUseForNoUse) {
    for (const char* text :
         {"The previous version ran on an A100", "We had hoped to use CUDA",
          "Other groups train language models; we do not.",
          "Many teams train networks on GPUs, we don't.", "GPU scheduler tests with fake nodes",
          "Results of the training runs as a PDF"}) {
        EXPECT_EQ(label_of(text), "cpu") << text;
    }
}

TEST(Detect, KnowsTheMediumOfATextFromItsData) {
    EXPECT_EQ(label_of("Translation of talks: NLLB and Whisper"), "gpu");
    EXPECT_EQ(label_of("Translate the CUDA talks page"), "cpu");
}

TEST(Detect, KnowsWordsOnlyByTheirWholeLength) {
    for (const char* text : {"barracuda", "recvmsg", "gpupdate", "cvs", "nlpd", "restraining"}) {
        EXPECT_EQ(label_of(text), "cpu") << text;
        for (const Evidence& one : detect(text).evidence) EXPECT_EQ(one.source, Source::kWord);
    }
}

TEST(Detect, ReadsSwitchesWithTheirValue) {
    EXPECT_EQ(label_of("docker run --gpus '\"device=0\"' trainer:3"), "gpu");
    EXPECT_EQ(label_of("docker run -e NVIDIA_VISIBLE_DEVICES=void web"), "cpu");
    EXPECT_EQ(detect("docker run --gpus=all -p 8000:8000 web").need.count, std::nullopt);
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
         {Row{"Train on 4x A100 80GB", 4, "a100", 80},
          Row{"eight H100 cards", 8, "h100", 0},
          Row{"torchrun --nproc_per_node=8 train.py", 8, "", 0},
          Row{"vllm serve m --tensor-parallel-size 2", 2, "", 0},
          Row{"limits:\n  nvidia.com/gpu: \"2\"", 2, "", 0},
          Row{"Train a model on an RTX 3090 with 24 GB of VRAM", 1, "rtx-3090", 24},
          Row{"srun --gres=gpu:a100:4 python x.py", 4, "a100", 0},
          Row{"The model needs a GPU", 1, "", 0},
          Row{"two 4090s for the CUDA model", 2, "rtx-4090", 0},
          Row{"quad L40S box for rendering", 4, "l40s", 0},
          Row{"A100 80GB x4, training", 4, "a100", 80},
          Row{"vLLM on 8 MI300X", 8, "mi300x", 0},
          Row{"cpu: 8, gpu: 2", 2, "", 0},
          Row{"any GPU is fine, just not the K80s", 1, "", 0},
          Row{"L4s for the model, we don't need an H100", 0, "l4", 0},
          Row{"a 2g.10gb slice on an A100 for the model", 1, "a100", 10},
          Row{"limits:\n  nvidia.com/mig-1g.5gb: 1", 1, "", 5},
          Row{"limits:\n  nvidia.com/gpu: 1\n  nvidia.com/gpumem: 3072", 1, "", 3},
          Row{"needs 8192MiB of VRAM", 1, "", 8},
          Row{"un GPU de 24 GB pour CUDA", 1, "", 24},
          Row{"devices:\n- driver: nvidia\n  count: 2\n  capabilities: [gpu]", 2, "", 0},
          Row{"Trainer(accelerator=\"gpu\", devices=4, strategy=\"ddp\")", 4, "", 0},
          Row{"accelerate launch --num_processes 4 train.py", 4, "", 0}}) {
        const Need need = detect(row.text).need;
        EXPECT_EQ(need.count.value_or(0), row.count) << row.text;
        EXPECT_EQ(need.type, row.type) << row.text;
        EXPECT_DOUBLE_EQ(need.memory_gib.value_or(0), row.memory) << row.text;
    }
}

TEST(Detect, TakesTheMemoryOfTheHostForNoneOfTheCard) {
    for (const char* text :
         {"limits:\n  nvidia.com/gpu: 1\n  memory: 16Gi",
          "limits:\n  memory: 64Gi\n  nvidia.com/gpu: 2",
          "needs a GPU, 200 GB disk, 32 GB host memory", "1 GPU, 64 GB RAM",
          "needs a GPU, the dataset has 300 GB", "GPU node with 512 GB memory"}) {
        EXPECT_FALSE(detect(text).need.memory_gib) << text;
    }
}

TEST(Detect, TakesBillionsOfRowsForNoParameters) {
    EXPECT_FALSE(detect("catboost task_type=GPU, 1.2B rows").need.memory_gib);
    EXPECT_FALSE(detect("cugraph pagerank, 4 billion edges").need.memory_gib);
    EXPECT_TRUE(detect("RLHF of a 3B model").need.memory_gib);
}

TEST(Detect, EstimatesMemoryFromParametersAndShowsTheArithmetic) {
    const Need full = detect("Fine-tune a 7B language model").need;
    EXPECT_EQ(full.count, 2U);  // of 80 GB each
    EXPECT_NEAR(full.memory_gib.value_or(0), 7e9 * 16 / (1 << 30) / 2, 0.1);
    EXPECT_NE(full.memory_reason.find("7 billion parameters x 16 bytes"), std::string::npos);
    const Need served = detect("Serve Llama 3 70B with vLLM").need;
    EXPECT_EQ(served.count, 4U);
    EXPECT_NEAR(served.memory_gib.value_or(0), 70e9 * 2.4 / (1 << 30) / 4, 0.1);
    const Need small = detect("Serve Qwen2.5 7B with vLLM").need;
    EXPECT_EQ(small.count, 1U);
    EXPECT_EQ(small.count_reason, "one GPU is enough");
    EXPECT_FALSE(detect("Run a GPU job on CUDA").need.memory_gib);
}

TEST(Detect, HearsTheAnswerToAQuestion) {
    EXPECT_EQ(label_of("Does this need a GPU? No. It is a Kafka consumer."), "cpu");
    EXPECT_EQ(label_of("GPU? Not for us, thanks"), "cpu");
    EXPECT_EQ(label_of("Does this need a GPU? Yes, for the encoder."), "gpu");
    EXPECT_EQ(label_of("Does it need a GPU? Not only one."), "gpu");
}

TEST(Detect, KnowsPlansAndErrandsFromUse) {
    EXPECT_EQ(label_of("If we ever add image generation we would need GPUs; today it stores text"),
              "cpu");
    EXPECT_EQ(label_of("Download the Llama weights to the share"), "cpu");
    EXPECT_EQ(label_of("Download the Llama weights and fine-tune them on our tickets"), "gpu");
    EXPECT_EQ(label_of("Summarise 400k patents with a self-hosted model"), "gpu");
}

TEST(Detect, KnowsTheCpuBuildOfAnImageByItsName) {
    EXPECT_EQ(label_of("FROM ghcr.io/huggingface/text-embeddings-inference:cpu-1.2"), "cpu");
    EXPECT_EQ(label_of("image: ghcr.io/acme/llm-runner:v3-cpu"), "cpu");
    EXPECT_EQ(label_of("image: vllm/vllm-openai:v0.5"), "gpu");
}

TEST(Detect, IsOptionalWhereTheTextSaysSo) {
    EXPECT_EQ(label_of("Uses a GPU if available, else the CPU"), "optional");
    EXPECT_EQ(label_of("The GPU is optional"), "optional");
    EXPECT_EQ(label_of("GPU nice to have, not required"), "optional");
    EXPECT_EQ(label_of("Either a CPU or a GPU node is fine"), "optional");
    EXPECT_EQ(label_of("CUDA needed, a CPU fallback is not offered"), "gpu");
}

TEST(Detect, TakesAnyBytesAndReadsOneMebibyteAtMost) {
    std::string bytes;
    bytes.resize(10'000'000);
    std::uint32_t state = 1;
    for (char& byte : bytes)
        byte = static_cast<char>((state = state * 1664525U + 1013904223U) >> 24U);
    EXPECT_TRUE(detect(bytes).cut);
    EXPECT_TRUE(detect_keywords(bytes).cut);
    for (const char* piece :
         {"no gpu ", "without ", "gpu", "4x", "\n", "nvidia.com/gpu: ", "\xE2\x80", "#", "7b "}) {
        std::string text;
        while (text.size() < 150'000) text += piece;
        const Verdict verdict = detect(text);
        EXPECT_LE(verdict.evidence.size(), kMostEvidence);
        for (const Evidence& one : verdict.evidence) EXPECT_LE(one.end, kMostBytes);
    }
    EXPECT_FALSE(detect(std::string_view(bytes).substr(0, kMostBytes)).cut);
    std::string known;  // words of the table only: the work is bounded
    while (known.size() < kMostBytes) known += "no gpu ";
    EXPECT_TRUE(detect(known).cut);
    EXPECT_FALSE(detect(known.substr(0, kMostBytes / 4)).cut);
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
    const std::string old = to_json_line(detect_keywords("billion"), "billion");
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
