// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <openssl/evp.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace aliquot::page {
namespace {

std::string sha256(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    const std::string bytes = text.str();
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
    std::string hex;
    for (unsigned i = 0; i < size; ++i) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        hex += kDigits[digest.at(i) >> 4U];
        hex += kDigits[digest.at(i) & 15U];
    }
    return hex;
}

TEST(PageVendor, FilesAreAsTheyWerePublishedWithTheirLicences) {
    const std::filesystem::path folder = ALIQUOT_SOURCE_DIR "/web/vendor";
    std::ifstream sums(folder / "SHA256SUMS");
    std::set<std::string> listed{"SHA256SUMS", "README.md"};
    std::string hash;
    std::string name;
    while (sums >> hash >> name) {
        EXPECT_EQ(sha256(folder / name), hash) << name;
        listed.insert(name);
    }
    EXPECT_TRUE(listed.contains("LICENSE.preact"));
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        EXPECT_TRUE(listed.contains(entry.path().filename())) << entry.path();
    }
}

}  // namespace
}  // namespace aliquot::page
