// SPDX-License-Identifier: Apache-2.0
#include "kube_client/packed_text.h"

#include <gtest/gtest.h>

#include <random>

namespace aliquot::kube_client {
namespace {

std::string noise(std::size_t size, unsigned seed) {
    std::mt19937 random(seed);
    std::string text(size, ' ');
    for (char& c : text) c = static_cast<char>(random());
    return text;
}

TEST(PackedText, ComesBackAsItWas) {
    TextPacker packer;
    std::vector<std::string> texts = {"",
                                      "a",
                                      "abcdefgh",
                                      std::string(100'000, 'x'),
                                      noise(200'000, 1),
                                      noise(70'000, 2) + noise(70'000, 2)};
    for (unsigned i = 0; i < 200; ++i) {
        texts.push_back(R"({"kind":"Pod","metadata":{"name":"trainer-)" + std::to_string(i * 7919) +
                        R"(","labels":{"app":"trainer"}},"spec":{"nodeName":"n)" +
                        std::to_string(i) + R"("},"status":{"phase":"Running"}})");
    }
    std::vector<std::string> packed;
    for (const auto& text : texts) packed.emplace_back(packer.pack(text));
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto again = packer.unpack(packed[i], texts[i].size());
        ASSERT_TRUE(again) << i;
        EXPECT_TRUE(*again == texts[i]) << i;
    }
    EXPECT_LE(packer.dictionary_bytes(), 65'535U);
}

TEST(PackedText, KeepsWhatTextsShareOnce) {
    TextPacker packer;
    const std::string shared = noise(2000, 3);
    packer.pack("one" + shared);
    EXPECT_LT(packer.pack("two" + shared + "three").size(), 40U);
    EXPECT_LT(packer.pack(std::string(1'000'000, 'x')).size(), 40U);
}

TEST(PackedText, RefusesBytesThatAreNotItsOwn) {
    TextPacker packer;
    const std::string text = "abcabcabcabcabcabc-" + noise(50, 4) + "abcabcabcabcabc";
    const std::string packed(packer.pack(text));
    EXPECT_FALSE(packer.unpack(packed, text.size() - 1));
    EXPECT_FALSE(packer.unpack(packed, text.size() + 1));
    for (std::size_t size = 0; size < packed.size(); ++size) {
        EXPECT_FALSE(packer.unpack(std::string_view(packed).substr(0, size), text.size())) << size;
    }
    EXPECT_FALSE(TextPacker().unpack(std::string("\x00\xff\xff", 3), 6));  // beyond a dictionary
    EXPECT_FALSE(TextPacker().unpack(std::string("\x80\x01\x00", 3), 6));  // before the text
}

}  // namespace
}  // namespace aliquot::kube_client
