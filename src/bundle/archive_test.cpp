// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "bundle/bundle.h"
#include "bundle/collect.h"
#include "bundle/test_tree.h"

namespace aliquot::bundle {
namespace {

TEST(Archive, SurvivesTheWayThroughABundle) {
    const auto bytes = to_bundle(small_tree(), "gpu-1");
    ASSERT_TRUE(bytes) << bytes.error().message;
    const auto read = from_bundle(*bytes);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->hosts(), std::vector<std::string>{"gpu-1"});
    const Tree host = read->of_host("gpu-1");
    EXPECT_TRUE(host.complete);
    EXPECT_EQ(host.taken_s, small_tree().taken_s);
    const Tree wanted = small_tree();
    for (const auto& [path, entry] : wanted.entries()) {
        const Entry* const found = host.find(path);
        ASSERT_NE(found, nullptr) << path;
        EXPECT_EQ(found->kind, entry.kind) << path;
        EXPECT_EQ(found->content, entry.content) << path;
    }
}

TEST(Archive, RefusesWhatIsNoBundle) {
    EXPECT_FALSE(from_bundle("no gzip"));
    EXPECT_FALSE(facts_from_json("{}"));
    EXPECT_FALSE(facts_from_json("{\"entries\":[{}]}"));
    EXPECT_FALSE(from_tar(std::string(512, 'x')));
}

TEST(Archive, KnowsThatABundleWasCutShort) {
    Tree tree;
    tree.complete = true;
    std::string text;
    for (unsigned i = 0; i < 5000; ++i) text += std::to_string(i * 2654435761U) + "\n";
    tree.add_text("/proc/modules", text);
    const auto bytes = to_bundle(tree, "gpu-1");
    ASSERT_TRUE(bytes) << bytes.error().message;
    const auto whole = from_bundle(*bytes);
    ASSERT_TRUE(whole) << whole.error().message;
    EXPECT_TRUE(whole->complete && !whole->cut);
    const auto half = from_bundle(bytes->substr(0, bytes->size() / 2));
    ASSERT_TRUE(half) << half.error().message;
    EXPECT_TRUE(half->cut && !half->complete) << "what was cut off is not absent";
}

/// What a tar header says, as anybody could write it.
struct Claim {
    std::string name;
    char type = '0';
    std::string size = "00000000000";  // the field as it stands
    std::string link = {};
    std::string rest = {};  // from byte 345: a prefix, or what GNU tar tells of a sparse file
    bool gnu = false;
};

std::string octal(std::uint64_t value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%011llo", static_cast<unsigned long long>(value));
    return text.data();
}

std::string member(const Claim& claim, const std::string& content = "") {
    std::string header(512, '\0');
    const auto put = [&header](std::size_t at, const std::string& text) {
        header.replace(at, text.size(), text);
    };
    put(0, claim.name.substr(0, 100));
    put(100, "0000644");
    put(108, "0000000");
    put(116, "0000000");
    put(124, claim.size);
    put(136, "00000000001");
    header[156] = claim.type;
    put(157, claim.link);
    put(257, claim.gnu ? std::string("ustar  \0", 8) : std::string("ustar\00000", 8));
    put(345, claim.rest);
    put(148, "        ");
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    put(148, octal(sum).substr(5) + '\0');
    return header + content + std::string((512 - content.size() % 512) % 512, '\0');
}

std::string file(const std::string& name, const std::string& content) {
    return member({.name = name, .size = octal(content.size())}, content);
}

std::string gzipped(const std::string& bytes) {
    z_stream stream{};
    EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

const std::string kEnd(1024, '\0');

TEST(Archive, TakesNoNameThatLeadsOutOfIt) {
    const auto tree =
        from_tar(file("/etc/hostname", "a") + file("../etc/passwd", "b") +
                 file("host/../../etc/shadow", "c") + file("./proc/version", "d") +
                 file("elsewhere/file", "e") + file("my-bundle/k8s/pods.json", "f") + kEnd);
    ASSERT_TRUE(tree) << tree.error().message;
    EXPECT_EQ(tree->entries().size(), 3U);
    EXPECT_EQ(*tree->text("/etc/hostname"), "a");
    EXPECT_EQ(*tree->text("/proc/version"), "d");
    EXPECT_EQ(*tree->text("k8s/pods.json"), "f");
}

TEST(Archive, KeepsLinksAsLinksAndFollowsNone) {
    const auto tree =
        from_tar(member({.name = "host/a/etc/s", .type = '2', .link = "/etc/shadow"}) +
                 member({.name = "host/a/etc/h", .type = '1', .link = "../../../etc/passwd"}) +
                 member({.name = "host/a/dev/nvidia0", .type = '3'}) +
                 member({.name = "host/a/dev/fifo", .type = '6'}) + kEnd);
    ASSERT_TRUE(tree) << tree.error().message;
    ASSERT_EQ(tree->entries().size(), 2U);
    for (const auto& [path, entry] : tree->entries()) {
        EXPECT_EQ(entry.kind, Entry::Kind::kLink) << path;
    }
    EXPECT_EQ(tree->find("host/a/etc/s")->content, "/etc/shadow");
}

TEST(Archive, TakesNoMemoryForASizeThatIsOnlyClaimed) {
    for (const std::string& size :
         {octal(077777777777), std::string("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12),
          std::string("77777777777"), std::string("\x80\0\0\0\0\0\xff\0\0\0\0\0", 12)}) {
        const auto tree = from_tar(file("etc/a", "first") +
                                   member({.name = "etc/hostname", .size = size}, "there"));
        if (!tree) continue;  // refused is as good
        EXPECT_TRUE(tree->cut);
        EXPECT_FALSE(tree->complete);
        EXPECT_EQ(*tree->text("/etc/a"), "first");
        const std::string* const text = tree->text("/etc/hostname");
        EXPECT_LE(text == nullptr ? 0 : text->size(), 512U);
    }
    // A size below zero, and one that is no number.
    EXPECT_FALSE(from_tar(member({.name = "etc/a", .size = std::string(12, '\xff')}) + kEnd));
    const auto words = from_tar(member({.name = "etc/a", .size = "no number"}) + kEnd);
    EXPECT_EQ(words ? words->text("/etc/a")->size() : 0, 0U);
}

/// A sparse file of GNU tar: one byte of data at `hole`, `whole` bytes in all.
std::string sparse(const std::string& name, std::uint64_t hole, std::uint64_t whole) {
    std::string rest(41, '\0');
    rest += octal(hole) + '\0' + octal(1) + '\0' + octal(whole) + '\0' + octal(0) + '\0';
    rest.resize(138, '\0');
    rest += octal(whole);
    return member({.name = name, .type = 'S', .size = octal(1), .rest = rest, .gnu = true}, "x");
}

TEST(Archive, FillsNoHoleBeyondTheLimitOfAFile) {
    const auto small = from_tar(sparse("var/log/kern.log", 2000, 3000) + kEnd);
    ASSERT_TRUE(small) << small.error().message;
    EXPECT_EQ(*small->text("/var/log/kern.log"),
              std::string(2000, '\0') + "x" + std::string(999, '\0'));
    const auto large = from_tar(sparse("var/log/kern.log", 5'000'000'000, 8'000'000'000) + kEnd);
    ASSERT_TRUE(large) << large.error().message;
    EXPECT_LE(large->text("/var/log/kern.log")->size(), kMostFileBytes);
    EXPECT_TRUE(large->find("/var/log/kern.log")->cut);
    std::string many;
    for (unsigned i = 0; i < 1000; ++i) {
        many += sparse("var/log/" + std::to_string(i) + ".log", 5'000'000'000, 8'000'000'000);
    }
    const auto refused = from_tar(many + kEnd);
    ASSERT_FALSE(refused) << "1,000 times 4 MiB of zeros out of 1 MiB";
    EXPECT_EQ(refused.error().message, "bundle: more than 256 MiB when unpacked");
}

TEST(Archive, RefusesMoreThanItsLimits) {
    const std::string zeros = gzipped(std::string(16U << 20U, '\0'));
    std::string bomb = gzipped(member({.name = "var/log/a.log", .size = octal(1U << 30U)}));
    for (unsigned i = 0; i < 20; ++i) bomb += zeros;
    ASSERT_LT(bomb.size(), 1U << 20U);
    const auto big = from_bundle(bomb);
    ASSERT_FALSE(big);
    EXPECT_EQ(big.error().message, "bundle: more than 256 MiB when unpacked");
    std::string many;
    for (unsigned i = 0; i < 100'001; ++i) many += member({.name = "etc/a"});
    const auto files = from_bundle(gzipped(many + kEnd));
    ASSERT_FALSE(files);
    EXPECT_EQ(files.error().message, "bundle: more than 100,000 files");
}

TEST(Archive, KeepsTheEndOfAFileThatIsLongerThanTheLimit) {
    std::string log(kMostFileBytes * 3 + 5, 'a');
    log += "the end";
    const auto tree = from_tar(file("var/log/kern.log", log) + kEnd);
    ASSERT_TRUE(tree) << tree.error().message;
    const Entry* const entry = tree->find("/var/log/kern.log");
    EXPECT_EQ(entry->content.size(), kMostFileBytes);
    EXPECT_TRUE(entry->cut && entry->content.ends_with("the end"));
}

TEST(Archive, KeepsAListOfObjectsWhole) {
    std::string pods(kMostFileBytes * 3 + 5, ' ');
    pods.front() = '[';
    pods.back() = ']';
    const auto tree = from_tar(file("k8s/pods.json", pods) + kEnd);
    ASSERT_TRUE(tree) << tree.error().message;
    const Entry* const entry = tree->find("k8s/pods.json");
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->content.size(), pods.size());
    EXPECT_FALSE(entry->cut);
}

TEST(Archive, ReadsTheNamesOfAllKindsOfTar) {
    const std::string deep = "host/a/usr/lib/" + std::string(160, 'k') + "/nvidia.ko";
    const std::string pax = "198 path=" + deep + "\n";
    const std::string exact = std::to_string(pax.size()) + pax.substr(3);
    for (const std::string& bytes :
         {member(
              {.name = "././@LongLink", .type = 'L', .size = octal(deep.size() + 1), .gnu = true},
              deep + '\0') +
              file(deep.substr(0, 100), "x"),
          member({.name = "PaxHeaders/x", .type = 'x', .size = octal(exact.size())}, exact) +
              file("short", "x"),
          member({.name = std::string(80, 'f') + "/nvidia.ko",
          .size = octal(1),
          .rest = "host/a/usr/lib/" + std::string(79, 'k')},
                 "x")}) {
        const auto tree = from_tar(bytes + kEnd);
        ASSERT_TRUE(tree) << tree.error().message;
        ASSERT_EQ(tree->paths("host/a/usr/lib/*/nvidia.ko").size() +
                      tree->paths("host/a/usr/lib/*/*/nvidia.ko").size(),
                  1U);
    }
    // Names that are not ASCII, as bytes and as a pax header says them.
    const std::string name = "logs/a/b/gr\xc3\xbc\xc3\x9f.log";
    const std::string said = " path=" + name + "\n";
    const auto tree =
        from_tar(file(name, "x") +
                 member({.name = "PaxHeaders/x", .type = 'x', .size = octal(said.size() + 2)},
                        std::to_string(said.size() + 2) + said) +
                 file("short", "y") + kEnd);
    ASSERT_TRUE(tree) << tree.error().message;
    ASSERT_EQ(tree->entries().size(), 1U);
    EXPECT_EQ(*tree->text(name), "y");
}

TEST(Archive, RefusesAHeaderThatIsBroken) {
    std::string bytes = file("etc/a", "first") + file("etc/b", "second") + kEnd;
    bytes[1024 + 150] = '7';
    const auto tree = from_tar(bytes);
    ASSERT_FALSE(tree);
    EXPECT_TRUE(tree.error().message.starts_with("bundle: byte 1024: not a tar header"))
        << tree.error().message;
    EXPECT_FALSE(from_tar(""));
    EXPECT_FALSE(from_bundle(gzipped("")));
}

TEST(Archive, ReadsGzipFilesOneBehindTheOther) {
    const std::string bytes = file("etc/a", "first") + file("etc/b", "second") + kEnd;
    const auto tree = from_bundle(gzipped(bytes.substr(0, 700)) + gzipped(bytes.substr(700)));
    ASSERT_TRUE(tree) << tree.error().message;
    EXPECT_FALSE(tree->cut);
    EXPECT_EQ(*tree->text("/etc/b"), "second");
}

TEST(Archive, IsTheSameBytesForTheSameTree) {
    const auto once = to_bundle(small_tree(), "gpu-1");
    const auto again = to_bundle(small_tree(), "gpu-1");
    ASSERT_TRUE(once && again);
    EXPECT_EQ(*once, *again);
    EXPECT_EQ(once->substr(4, 4), std::string(4, '\0')) << "no time of the day in it";
}

TEST(Archive, KeepsALinkWhoseTargetIsLong) {
    Tree tree;
    tree.add("/etc/a", {.kind = Entry::Kind::kLink, .content = "/x/" + std::string(300, 'k')});
    const auto read = from_bundle(*to_bundle(tree, "n"));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read->of_host("n").find("/etc/a"), *tree.find("/etc/a"));
}

}  // namespace
}  // namespace aliquot::bundle
