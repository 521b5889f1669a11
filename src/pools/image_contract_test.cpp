// SPDX-License-Identifier: Apache-2.0
#include "pools/image_contract.h"

#include <gtest/gtest.h>

namespace aliquot::pools {
namespace {

std::string missing(const std::vector<ImagePackage>& packages) {
    std::string text;
    const auto items = check_contract("ci-cuda", packages);
    for (const auto& one : *items) text += one.found.empty() ? one.what + ";" : "";
    return text;
}

// R93.
TEST(ImageContract, HoldsForAnImageWithCudaCompilersRunnerAndPython) {
    const std::vector<ImagePackage> whole{{"base-files", "12ubuntu4.6"},
                                          {"cuda-cudart-12-1", "12.1.105-1"},
                                          {"libcudnn8", "8.9.0"},
                                          {"cmake", "3.22.1"},
                                          {"ninja-build", "1.10.1-1"},
                                          {"ccache", "4.5.1-1"},
                                          {"Runner.Listener", "2.331"},
                                          {"numpy", "1.26.4"},
                                          {"PyYAML", "6.0"}};
    EXPECT_EQ(missing(whole), "");
    auto other = whole;
    other[0].version = "12.4+deb12u5";
    other[1].name = "cuda-cudart-11-8";
    EXPECT_EQ(missing(other), "Ubuntu 22.04;CUDA 12.1;");
    EXPECT_EQ(missing({}), "Ubuntu 22.04;CUDA 12.1;cuDNN;cmake;ninja;ccache;runner;numpy;PyYAML;");
    EXPECT_FALSE(check_contract("other", {}));
}

// A package of data, of another program or for building is not the program.
TEST(ImageContract, IsNotKeptByPackagesThatAreNearlyCalledSo) {
    const std::vector<ImagePackage> nearly{{"ubuntu-keyring", "2021.03.26~22.04"},
                                           {"cmake-data", "3.22.1"},
                                           {"ninja-syntax", "1.7"},
                                           {"numpydoc", "1.5"},
                                           {"libcudnn-frontend", "1.0"},
                                           {"pyyaml-include", "1.3"},
                                           {"cuda-cudart-12-10", "12.10.1"},
                                           {"ccache-stats", "1"}};
    EXPECT_EQ(missing(nearly), missing({}));
    EXPECT_EQ(missing({{"nvidia-cudnn-cu12", "9.1"}, {"ninja", "1.11"}}),
              "Ubuntu 22.04;CUDA 12.1;cmake;ccache;runner;numpy;PyYAML;");
    EXPECT_EQ(missing({{"libcudnn9-cuda-12", "9.1"}, {"ubuntu", "22.04"}}),
              "CUDA 12.1;cmake;ninja;ccache;runner;numpy;PyYAML;");
}

TEST(BillOfMaterials, IsReadInBothForms) {
    const auto spdx = read_bill_of_materials(
        R"({"spdxVersion":"SPDX-2.3","packages":[{"name":"cmake","versionInfo":"3.22"},{"name":"x"}]})");
    ASSERT_TRUE(spdx);
    EXPECT_EQ(*spdx, (std::vector<ImagePackage>{{"cmake", "3.22"}, {"x", ""}}));
    const auto cyclone = read_bill_of_materials(
        R"({"bomFormat":"CycloneDX","components":[{"name":"cmake","version":"3.22"}]})");
    ASSERT_TRUE(cyclone);
    EXPECT_EQ(cyclone->size(), 1U);
    for (const char* const broken : {"", "{}", "[]", "{\"bomFormat\":\"x\"}"}) {
        EXPECT_FALSE(read_bill_of_materials(broken)) << broken;
    }
}

}  // namespace
}  // namespace aliquot::pools
