// SPDX-License-Identifier: Apache-2.0
// aliquot image: has an image what its users rely on?
#include <memory>
#include <ostream>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/files/config_command.h"
#include "cli/rows.h"
#include "command_line/command.h"
#include "document/build.h"
#include "pools/image_contract.h"

namespace aliquot::cli {
namespace {

struct ImageWords {
    std::string file;
    std::string contract = "ci-cuda";
    std::string format = "table";
};

void check_image(Context& context, const ImageWords& words) {
    constexpr std::size_t kMostMib = 64;
    const auto input = read_input(words.file, kMostMib);
    if (!input) return fail(context, kUsage, input.error().message);
    const auto packages = pools::read_bill_of_materials(input->text);
    if (!packages) return fail(context, kUsage, input->name + ": " + packages.error().message);
    const auto items = pools::check_contract(words.contract, *packages);
    if (!items) return fail(context, kUsage, items.error().message);
    std::vector<Row> rows{{"ITEM", "HAS", "EXPECTED"}};
    document::Value list = document::make_sequence();
    for (const auto& one : *items) {
        if (one.found.empty()) context.exit_code = kFindings;
        rows.push_back({one.what, one.found.empty() ? "missing" : one.found, one.expected});
        list.items.push_back(document::make_mapping(
            {{"item", one.what}, {"found", one.found}, {"expected", one.expected}}));
    }
    if (words.format == "table") {
        print_rows(context.out, rows);
    } else {
        print_answer(context.out, "ImageCheck",
                     document::make_mapping({{"contract", words.contract}, {"items", list}}),
                     words.format);
    }
}

}  // namespace

void add_image_command(command_line::Command& program, Context& context) {
    command_line::Command* image =
        program.add_subcommand("image", "Check what is in a container image");
    image->require_subcommand(1);
    image->footer("syft IMAGE -o spdx-json | aliquot image check - --contract ci-cuda");
    const auto words = std::make_shared<ImageWords>();
    command_line::Command* check = image->add_subcommand(
        "check",
        "Check an image's bill of materials (SPDX or CycloneDX, JSON) against a "
        "contract\n\nci-cuda: "
        "Ubuntu 22.04, CUDA 12.1, cuDNN, cmake, ninja, ccache, runner, numpy, PyYAML. Exit code 1: "
        "something is missing.");
    check->footer(
        "syft IMAGE -o spdx-json | aliquot image check - --contract ci-cuda\n"
        "aliquot image check runner.spdx.json -o json");
    check->add_option("FILE", words->file, "Bill of materials; - is standard input", " ")
        ->required();
    check->add_option("--contract", words->contract, "Which one", "NAME (ci-cuda)")
        ->one_of({"ci-cuda"});
    add_output(*check, words->format);
    check->callback([words, &context] { check_image(context, *words); });
}

}  // namespace aliquot::cli
