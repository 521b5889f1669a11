// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "detect/detect.h"

namespace aliquot::detect {
namespace {

TEST(Keywords, KnowsExactlyItsFourteenKeywords) {
    for (const char* keyword :
         {"machine learning", "deep learning", "neural network", "pytorch", "tensorflow",
          "computer vision", "cv", "object detection", "image classification", "nlp",
          "model training", "inference", "gpu", "cuda"}) {
        const std::string text = std::string("xx") + keyword + "yy";
        const Verdict verdict = detect_keywords(text);
        EXPECT_EQ(verdict.label, Label::kGpu) << keyword;
        ASSERT_EQ(verdict.evidence.size(), 1U) << keyword;
        EXPECT_EQ(text.substr(verdict.evidence[0].start,
                              verdict.evidence[0].end - verdict.evidence[0].start),
                  keyword);
    }
    for (const char* other : {"", "vllm", "training", "large model", "billion", "machine  learning",
                              "deep-learning", "c v", "n\nlp", "transformer"}) {
        EXPECT_EQ(detect_keywords(other).label, Label::kCpu) << other;
    }
}

TEST(Keywords, DoesNotMindCase) {
    EXPECT_EQ(detect_keywords("PyTorch").label, Label::kGpu);
    EXPECT_EQ(detect_keywords("DEEP Learning").label, Label::kGpu);
    EXPECT_EQ(detect_keywords("neural networ\xE2\x84\xAA").label, Label::kGpu);  // the Kelvin sign
}

TEST(Keywords, FindsKeywordsInsideWordsAndDenials) {
    for (const char* text : {"CVE", "recvmsg", "barracuda", "nlpd", "No GPU needed", "csv cvs"}) {
        EXPECT_EQ(detect_keywords(text).label, Label::kGpu) << text;
    }
}

TEST(Keywords, SizesByLargeModelOrBillionThenTrainingThenTheRest) {
    struct Row {
        const char* text;
        unsigned count;
        const char* type;
        double memory;
    };
    for (const Row& row :
         {Row{"large model", 4, "a100", 64}, Row{"one Billion rows", 4, "a100", 64},
          Row{"training of a large model", 4, "a100", 64},
          Row{"billion-parameter training", 4, "a100", 64}, Row{"staff training", 1, "a100", 32},
          Row{"restraining order", 1, "a100", 32}, Row{"a web shop", 1, "v100", 16},
          Row{"", 1, "v100", 16}}) {
        const Verdict verdict = detect_keywords(row.text);
        EXPECT_EQ(verdict.need.count, row.count) << row.text;
        EXPECT_EQ(verdict.need.type, row.type) << row.text;
        EXPECT_EQ(verdict.need.memory_gib, row.memory) << row.text;
    }
}

TEST(Keywords, FindsKeywordsThatOverlap) {
    const Verdict verdict = detect_keywords("pytorcpytorch nncvlp machine deep learning");
    EXPECT_EQ(verdict.evidence.size(), 3U);  // pytorch, cv, deep learning
}

}  // namespace
}  // namespace aliquot::detect
