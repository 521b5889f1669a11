// SPDX-License-Identifier: Apache-2.0
#include "registry/package_lists.h"

#include <gtest/gtest.h>

#include "registry/hidden_paths.h"

namespace aliquot::registry {
namespace {

using Packages = std::vector<pools::ImagePackage>;

Packages read(std::string_view path, std::string_view text) {
    Packages packages;
    add_packages(kind_of(path), path, text, packages);
    return packages;
}

TEST(PackageList, OfDebianHasWhatIsInstalled) {
    EXPECT_EQ(read("var/lib/dpkg/status",
                   "Package: base-files\nStatus: install ok installed\nVersion: "
                   "12ubuntu4.6\nDescription: x\n Package: no\n\n"
                   "Package: cmake\nStatus: deinstall ok config-files\nVersion: 3.22.1\n\n"
                   "Package: ninja-build\nStatus: hold ok installed\nVersion: 1.10.1-1"),
              (Packages{{"base-files", "12ubuntu4.6"}, {"ninja-build", "1.10.1-1"}}));
    EXPECT_EQ(read("var/lib/dpkg/status.d/base", "Package: base-files\nVersion: 12.4+deb12u5\n"),
              (Packages{{"base-files", "12.4+deb12u5"}}));
    EXPECT_EQ(read("var/lib/dpkg/status.d/base.md5sums", "Package: x\n"), Packages{});
    EXPECT_EQ(read("var/lib/dpkg/status-old", "Package: x\n"), Packages{});
}

TEST(PackageList, OfAlpinePythonAndCondaIsRead) {
    EXPECT_EQ(
        read("lib/apk/db/installed", "C:Q1\nP:musl\nV:1.2.5-r0\nF:lib\n\nP:cmake\nV:3.30\n\n"),
        (Packages{{"musl", "1.2.5-r0"}, {"cmake", "3.30"}}));
    EXPECT_EQ(read("usr/lib/python3/dist-packages/numpy-1.26.4.dist-info/METADATA",
                   "Metadata-Version: 2.1\nName: numpy\nVersion: 1.26.4\n\nName: other\n"),
              (Packages{{"numpy", "1.26.4"}}));
    EXPECT_EQ(read("x/PyYAML.egg-info/PKG-INFO", "Name: PyYAML\r\nVersion: 6.0\r\n"),
              (Packages{{"PyYAML", "6.0"}}));
    EXPECT_EQ(read("opt/conda/conda-meta/cuda-cudart-12.1.105-0.json",
                   R"({"name":"cuda-cudart","version":"12.1.105"})"),
              (Packages{{"cuda-cudart", "12.1.105"}}));
    EXPECT_EQ(read("opt/conda/conda-meta/x.json", "{"), Packages{});
}

TEST(PackageList, KnowsTheRunnerAndToolsWithoutAPackage) {
    EXPECT_EQ(read("home/runner/bin/Runner.Listener.deps.json",
                   R"({"targets":{"net8":{"Runner.Listener/2.331.0":{"dependencies":{}}}}})"),
              (Packages{{"Runner.Listener", "2.331.0"}}));
    EXPECT_EQ(read("usr/local/bin/cmake", ""), (Packages{{"cmake", "in /usr/local/bin/cmake"}}));
    EXPECT_EQ(read("usr/share/cmake", ""), Packages{});
}

TEST(HiddenPaths, AreThoseThatALayerAboveHasOrDeleted) {
    HiddenPaths paths;
    EXPECT_FALSE(paths.take_whiteout("a/b"));
    EXPECT_TRUE(paths.take_whiteout("lib/.wh.numpy-1.dist-info"));
    EXPECT_TRUE(paths.take_whiteout("opt/.wh..wh..opq"));
    EXPECT_TRUE(paths.take_whiteout("opt/.wh..wh.plnk"));
    paths.add("var/lib/dpkg/status");
    EXPECT_FALSE(paths.hides("var/lib/dpkg/status")) << "its own layer";
    EXPECT_FALSE(paths.hides("opt/x"));
    paths.next_layer();
    EXPECT_TRUE(paths.hides("var/lib/dpkg/status"));
    EXPECT_TRUE(paths.hides("lib/numpy-1.dist-info/METADATA"));
    EXPECT_TRUE(paths.hides("opt/conda/conda-meta/a.json"));
    EXPECT_FALSE(paths.hides("lib/numpy-2.dist-info/METADATA"));
    EXPECT_FALSE(paths.hides("optional"));
    EXPECT_TRUE(paths.take_whiteout(".wh..wh..opq"));
    paths.next_layer();
    EXPECT_TRUE(paths.hides("anything"));
}

}  // namespace
}  // namespace aliquot::registry
