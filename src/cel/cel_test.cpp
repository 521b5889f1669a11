// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cel/evaluate.h"

namespace aliquot::cel {
namespace {

/// A GPU as a selector sees it.
Variables variables() {
    Map attributes{{{"type", Value("gpu")},
                    {"model", Value("LATEST-GPU-MODEL")},
                    {"productName", Value("NVIDIA A100-SXM4-80GB")},
                    {"index", Value(std::int64_t{4})},
                    {"driverVersion", Value(*Semver::parse("580.65.6"))},
                    {"shared", Value(true)},
                    {"links", Value(List{Value("a"), Value("b")})}}};
    Map capacity{{{"memory", Value(*k8s::Quantity::parse("80Gi"))}}};
    Map by_domain{{{"gpu.example.com", Value(std::move(attributes))}}, true};
    Map capacities{{{"gpu.example.com", Value(std::move(capacity))}}, true};
    Map device{{{"driver", Value("gpu.example.com")},
                {"allowMultipleAllocations", Value(false)},
                {"attributes", Value(std::move(by_domain))},
                {"capacity", Value(std::move(capacities))}}};
    return {{"device", Value(std::move(device))}};
}

/// The value, or the error.
std::string result_of(std::string_view text) {
    const auto expression = Expression::parse(text, {"device"});
    if (!expression) return expression.error().message;
    const auto value = evaluate(*expression, variables());
    return value ? value->text() : value.error().message;
}

struct Case {
    const char* text;
    const char* result;
};

class Cel : public testing::TestWithParam<Case> {};

TEST_P(Cel, HasTheResult) {
    EXPECT_EQ(result_of(GetParam().text), GetParam().result) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Language, Cel,
    testing::Values(Case{"1 + 2 * 3 - 4 / 2", "5"}, Case{"-7 % 3", "-1"}, Case{"- -7", "7"},
                    Case{"!!true", "true"},
                    Case{"1 < 2 && 2 <= 2 && 3 > 2 && 2 >= 2 && 1 != 2", "true"},
                    Case{"0x10 + 1", "17"}, Case{"1.5 + .5", "2"}, Case{"1e3 == 1000", "true"},
                    Case{"true ? 'a' : 'b'", "'a'"}, Case{"false ? 1 : true ? 2 : 3", "2"},
                    Case{"'a' + \"b\" == r'ab'", "true"}, Case{"'\\u00e9\\n\\x41'.size()", "3"},
                    Case{"'''x\ny'''.contains('\\n')", "true"}, Case{"2 in [1, 2, 3]", "true"},
                    Case{"'a' in {'a': 1}", "true"}, Case{"{'a': 1}.a", "1"},
                    Case{"[1, 2][1]", "2"}, Case{"[1, 2] + [3] == [1, 2, 3]", "true"},
                    Case{"'1' == 1", "false"}, Case{"1 == 1.0", "true"},
                    Case{"null == null", "true"}, Case{"size([1, 2]) == [1, 2].size()", "true"},
                    Case{"[1, 2, 3].all(x, x > 0) && [1, 2].exists(x, x == 2)", "true"},
                    Case{"[1, 2, 2].exists_one(x, x == 2)", "false"},
                    Case{"[1, 2, 3].filter(x, x > 1).map(x, x * 2)", "[4, 6]"},
                    Case{"[1, 2, 3].map(x, x > 1, x * x)", "[4, 9]"},
                    Case{"cel.bind(x, 3, x * x)", "9"}, Case{"int('42') + int(1.9)", "43"},
                    Case{"string(5) + string(true)", "'5true'"}, Case{"double('0.5')", "0.5"},
                    Case{"// nothing\ntrue", "true"}));

INSTANTIATE_TEST_SUITE_P(Logic, Cel,
                         testing::Values(Case{"true || 1 / 0 == 1", "true"},
                                         Case{"1 / 0 == 1 || true", "true"},
                                         Case{"1 / 0 == 1 && false", "false"},
                                         Case{"1 / 0 == 1 && true", "1:3: division by zero"},
                                         Case{"[0, 1].exists(x, 1 / x == 1)", "true"},
                                         Case{"1 || true", "true"},
                                         Case{"1 || false", "1:1: || takes a bool, not int"}));

INSTANTIATE_TEST_SUITE_P(
    Devices, Cel,
    testing::Values(
        Case{"device.driver == 'gpu.example.com' && device.attributes['gpu.example.com'].type == "
             "'gpu'",
             "true"},
        Case{"device.attributes['gpu.example.com'].model == 'LATEST-GPU-MODEL'", "true"},
        Case{"device.capacity['gpu.example.com'].memory.compareTo(quantity('4Gi')) >= 0", "true"},
        Case{"device.capacity['gpu.example.com'].memory.isGreaterThan(quantity('80Gi'))", "false"},
        Case{"device.capacity['gpu.example.com'].memory == quantity('81920Mi')", "true"},
        Case{"device.attributes['gpu.example.com'].productName.lowerAscii().matches('^.*a100.*$')\n"
             "&&\n(device.attributes['gpu.example.com'].index == 0 ||\n"
             " device.attributes['gpu.example.com'].index == 4)",
             "true"},
        Case{"device.attributes['gpu.example.com'].driverVersion.compareTo(semver('550.0.0'))",
             "1"},
        Case{"device.attributes['gpu.example.com'].driverVersion.isLessThan(semver('v581', true))",
             "true"},
        Case{"device.attributes['gpu.example.com'].driverVersion.major()", "580"},
        Case{"device.attributes['gpu.example.com'].?profile.orValue('none')", "'none'"},
        Case{"device.attributes['gpu.example.com'].?index.hasValue()", "true"},
        Case{"device.attributes['other'].?index.hasValue()", "false"},
        Case{"has(device.attributes['gpu.example.com'].profile)", "false"},
        Case{"'gpu.example.com' in device.attributes", "true"},
        Case{"cel.bind(a, device.attributes['gpu.example.com'], a.shared && a.index > 3)", "true"},
        Case{"device.attributes['gpu.example.com'].links.includes('b')", "true"},
        Case{"device.attributes['gpu.example.com'].index.includes(4)", "true"},
        Case{"!device.allowMultipleAllocations", "true"},
        Case{"device.attributes['gpu.example.com'].profile == '1g'",
             "1:38: no such key: 'profile'"},
        Case{"device.attributes['nvidia.com/gpu'].type == 'gpu'", "1:37: no such key: 'type'"},
        Case{"device.capacity['gpu.example.com'].memory >= quantity('4Gi')",
             "1:43: no such overload: >=(Quantity, Quantity), compare with x.compareTo(y) >= 0"},
        Case{"device.attributes['gpu.example.com'].index.startsWith('4')",
             "1:44: no such overload: startsWith(int, string)"}));

INSTANTIATE_TEST_SUITE_P(
    Mistakes, Cel,
    testing::Values(Case{"", "1:1: the expression ends where a value is expected"},
                    Case{"devices.driver == 'x'",
                         "1:1: there is no variable 'devices', did you mean 'device'?"},
                    Case{"device.driver.startWith('g')",
                         "1:15: CEL has no function startWith(), did you mean 'startsWith'?"},
                    Case{"device.driver = 'g'", "1:15: CEL has no operator '=', use '=='"},
                    Case{"device.driver == 'g", "1:18: the text is not closed"},
                    Case{"(1 + 2", "1:7: the expression ends here, ')' expected"},
                    Case{"1 +\n +", "2:2: unexpected '+', a value expected"},
                    Case{"true and false", "1:6: unexpected 'and'"},
                    Case{"quantity('4x')", "1:1: not a quantity: '4x'"},
                    Case{"semver('1.02.3')", "1:1: not a version of semver.org 2.0.0: '1.02.3'"},
                    Case{"'a'.matches('(')", "1:5: not a regular expression: missing ): ("},
                    Case{"b'x' == b'x'", "1:1: bytes are not supported"},
                    Case{"1u", "1:1: unsigned numbers are not supported"},
                    Case{"timestamp('x')",
                         "1:1: timestamp() is a function of Kubernetes that is not supported here"},
                    Case{"size()", "1:1: wrong number of arguments of size()"},
                    Case{"quantity", "1:1: there is no variable 'quantity'"},
                    Case{"'a'.quantity()", "1:5: quantity() stands before no value: quantity(x)"},
                    Case{"9223372036854775808", "1:1: the number does not fit 64 bits"},
                    Case{"9223372036854775807 + 1", "1:21: integer overflow"},
                    Case{"has(device)", "1:1: has() takes a member: has(a.b)"}));

TEST(CelLimits, HoldForLengthDepthAndSteps) {
    EXPECT_NE(result_of(std::string(11'000, ' ')).find("10240"), std::string::npos);
    EXPECT_NE(result_of(std::string(200, '(') + "1").find("nested too deep"), std::string::npos);
    std::string sum = "1";
    for (int i = 0; i < 200; ++i) sum += "+1";
    EXPECT_NE(result_of(sum).find("nested too deep"), std::string::npos);
    std::string all = "true";
    for (int i = 0; i < 1000; ++i) all += "&&true";
    EXPECT_EQ(result_of(all), "true");

    const std::string ten = "[0,1,2,3,4,5,6,7,8,9]";
    std::string loops = "true";
    for (int i = 0; i < 8; ++i) loops = ten + ".all(x" + std::to_string(i) + ", " + loops + ")";
    EXPECT_NE(result_of(loops).find("too many steps"), std::string::npos);
}

TEST(CelLimits, ADecidingSideDoesNotHideThatTheStepsAreSpent) {
    const auto expression = Expression::parse("[1,2,3].all(x, x > 0) || true", {});
    ASSERT_TRUE(expression);
    EXPECT_FALSE(evaluate(*expression, {}, 5));
    EXPECT_TRUE(evaluate(*expression, {}, 100));
}

TEST(CelCondition, IsABool) {
    const auto expression = Expression::parse("device.driver", {"device"});
    ASSERT_TRUE(expression);
    const auto said = evaluate_condition(*expression, variables());
    ASSERT_FALSE(said);
    EXPECT_EQ(said.error().message, "1:1: the expression is string, a bool expected");
}

}  // namespace
}  // namespace aliquot::cel
