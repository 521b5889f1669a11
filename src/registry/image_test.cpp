// SPDX-License-Identifier: Apache-2.0
#include "registry/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "registry/layer.h"
#include "registry/test_registry.h"

namespace aliquot::registry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using ImagePackages = std::vector<pools::ImagePackage>;

bool never(const ImagePackages&) { return false; }

Result<ImageContents> contents_of(TestRegistry& registry, const std::string& version = ":1",
                                  const std::string& platform = "linux/amd64",
                                  const Enough& enough = never) {
    const auto image = parse_reference(registry.host() + "/ci" + version);
    Client client(*image, registry.client_options());
    return read_image(client, *image, platform, enough);
}

std::string why(const Result<ImageContents>& contents) {
    return contents ? "" : contents.error().message;
}

// R93.
TEST(RegistryImage, HasThePackagesOfItsLayersWithoutWhatUpperOnesDeleted) {
    TestRegistry registry;
    const std::string lowest = registry.put_layer(
        {{"var/lib/dpkg/status",
          "Package: base-files\nStatus: install ok installed\nVersion: old\n"},
         {"./usr/lib/python3/numpy-1.0.dist-info/METADATA", "Name: numpy\nVersion: 1.0\n"},
         {"usr/lib/python3/PyYAML-6.dist-info/METADATA", "Name: PyYAML\nVersion: 6\n"}});
    const std::string highest = registry.put_layer(
        {{"var/lib/dpkg/status",
          "Package: base-files\nStatus: install ok installed\nVersion: 12ubuntu4.6\n"},
         {"usr/lib/python3/.wh.numpy-1.0.dist-info", ""},
         {"usr/local/bin/cmake", "ELF"}});
    const std::string digest = registry.put_image("1", {lowest, highest});
    const auto contents = contents_of(registry);
    ASSERT_TRUE(contents) << why(contents);
    EXPECT_THAT(contents->packages,
                ElementsAre(pools::ImagePackage{"cmake", "in /usr/local/bin/cmake"},
                            pools::ImagePackage{"base-files", "12ubuntu4.6"},
                            pools::ImagePackage{"PyYAML", "6"}));
    EXPECT_EQ(contents->digest, digest);
    EXPECT_EQ(contents->platform, "linux/amd64");
    EXPECT_EQ(contents->layers_read, 2U);
}

TEST(RegistryImage, IsReadNoFurtherThanNeeded) {
    TestRegistry registry;
    const std::string lowest = registry.put_blob("not even a layer");
    const std::string highest = registry.put_layer({{"usr/bin/ninja", ""}});
    registry.put_image("1", {lowest, highest});
    const auto contents = contents_of(registry, ":1", "linux/amd64",
                                      [](const ImagePackages& all) { return !all.empty(); });
    ASSERT_TRUE(contents) << why(contents);
    EXPECT_EQ(contents->layers, 2U);
    EXPECT_EQ(contents->layers_read, 1U);
    EXPECT_THAT(why(contents_of(registry)), HasSubstr(lowest));
}

TEST(RegistryImage, OfAListIsTheOneForThePlatform) {
    TestRegistry registry;
    const std::string layer = registry.put_layer({{"usr/bin/ninja", ""}});
    const std::string digest = registry.put_image("amd", {layer});
    registry.put_manifest(
        "1",
        R"({"schemaVersion":2,"manifests":[{"digest":"sha256:)" + std::string(64, '1') +
            R"(","platform":{"os":"linux","architecture":"arm64","variant":"v8"}},{"digest":")" +
            digest + R"(","platform":{"os":"linux","architecture":"amd64"}},{"digest":")" + digest +
            R"(","platform":{"os":"unknown","architecture":"unknown"}}]})",
        "application/vnd.oci.image.index.v1+json");
    const auto contents = contents_of(registry);
    ASSERT_TRUE(contents) << why(contents);
    EXPECT_EQ(contents->digest, digest);
    EXPECT_THAT(why(contents_of(registry, ":1", "linux/s390x")),
                HasSubstr("there is none for linux/s390x; there is linux/arm64/v8, linux/amd64"));
    EXPECT_THAT(why(contents_of(registry, ":amd", "linux/arm64")),
                HasSubstr("it is for linux/amd64, not for linux/arm64"));
    EXPECT_TRUE(contents_of(registry, "@" + digest));
}

TEST(RegistryImage, ThatIsBrokenIsTold) {
    TestRegistry registry;
    const auto said = [&](const std::string& manifest) {
        registry.put_manifest("1", manifest);
        return why(contents_of(registry));
    };
    EXPECT_THAT(said("no"), HasSubstr("not JSON"));
    EXPECT_THAT(said("{}"), HasSubstr("names no layers"));
    EXPECT_THAT(said(R"({"schemaVersion":1,"fsLayers":[]})"), HasSubstr("schema 1"));
    EXPECT_THAT(
        said(
            R"({"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":"../../x","size":1}]})"),
        HasSubstr("without digest or size"));
    const std::string digest = "sha256:" + std::string(64, '1');
    EXPECT_THAT(
        said(R"({"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+zstd","digest":")" +
             digest + R"(","size":1}]})"),
        HasSubstr("syft"));
    EXPECT_THAT(
        said(R"({"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":")" +
             digest + R"(","size":1}]})"),
        HasSubstr("names no configuration"));
}

TEST(RegistryImage, WithADatabaseThatIsNotReadSaysSo) {
    TestRegistry registry;
    registry.put_image("1", {registry.put_layer({{"var/lib/rpm/rpmdb.sqlite", "x"}})});
    const auto contents = contents_of(registry);
    ASSERT_TRUE(contents) << why(contents);
    EXPECT_THAT(contents->remarks, ElementsAre(HasSubstr("rpmdb.sqlite is not read")));
}

TEST(Layer, IsReadWhileItComesAndEndsItsSourceWhenItIsBroken) {
    const std::string whole = packed_layer({{"a", std::string(1'000'000, 'a')}, {"b", "text"}});
    std::size_t given = 0;
    const auto source = [&](const auto& take) -> Result<Done> {
        constexpr std::size_t kPart = 1'000;
        for (given = 0; given < whole.size(); given += kPart) {
            if (!take(std::string_view(whole).substr(given, kPart))) break;
        }
        return Done{};
    };
    std::vector<std::string> taken;
    const LayerReader reader{
        .wants = [](const std::string& path) { return path == "b"; },
        .take = [&](const std::string& path,
                    const std::string& text) { taken.push_back(path + "=" + text); }};
    ASSERT_TRUE(read_layer(source, reader));
    EXPECT_THAT(taken, ElementsAre("b=text"));
    const auto endless = [](const auto& take) -> Result<Done> {
        while (take(std::string(10'000, 'x'))) {
        }
        return Done{};
    };
    EXPECT_FALSE(read_layer(endless, reader));
    const auto cut = [&](const auto& take) -> Result<Done> {
        (void)take(std::string_view(whole).substr(0, whole.size() / 2));
        return Error{ErrorCode::kUnavailable, "the connection broke"};
    };
    EXPECT_THAT(read_layer(cut, reader).error().message, HasSubstr("the connection broke"));
}

}  // namespace
}  // namespace aliquot::registry
