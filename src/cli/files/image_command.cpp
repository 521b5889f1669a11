// SPDX-License-Identifier: Apache-2.0
// aliquot image: has an image what its users rely on?
#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>

#include "base/number.h"
#include "base/sentence.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/files/config_command.h"
#include "cli/rows.h"
#include "command_line/command.h"
#include "document/build.h"
#include "os/spawner.h"
#include "pools/image_contract.h"
#include "registry/image.h"
#include "registry/login.h"

namespace aliquot::cli {
namespace {

struct ImageWords {
    std::string image;
    std::string contract = "ci-cuda";
    std::string format = "table";
    std::string platform = "linux/amd64";
    std::string logins;
    std::string ca_file;
    bool plain_http = false;
    unsigned timeout_s = 600;
};

/// What was looked at, for people and for programs.
struct Looked {
    std::vector<pools::ImagePackage> packages;
    std::optional<registry::ImageContents> contents;  // of an image in a registry
};

/// A bill of materials is "-", a file that is there, or what is called as one: "runner.spdx.json".
bool is_file(const std::string& word) {
    std::error_code none;
    return word == "-" || word.starts_with('.') || word.starts_with('/') ||
           word.ends_with(".json") || std::filesystem::is_regular_file(word, none);
}

std::optional<Looked> look_at_file(Context& context, const ImageWords& words) {
    constexpr std::size_t kMostMib = 64;
    const auto input = read_input(words.image, kMostMib);
    if (!input) {
        fail(context, kUsage, input.error().message);
        return std::nullopt;
    }
    auto packages = pools::read_bill_of_materials(input->text);
    if (!packages) {
        fail(context, kUsage, input->name + ": " + packages.error().message);
        return std::nullopt;
    }
    return Looked{*std::move(packages), std::nullopt};
}

Result<registry::ImageContents> contents_of(const ImageWords& words,
                                            const registry::Reference& image) {
    registry::ClientOptions options{
        .ca_file = words.ca_file,
        .plain_http = words.plain_http,
        .until = std::chrono::steady_clock::now() + std::chrono::seconds(words.timeout_s)};
    auto login = registry::find_login(words.logins, os::current_environment(), image);
    if (!login) return std::move(login).error();
    options.login = *std::move(login);
    registry::Client client(image, std::move(options));
    return registry::read_image(client, image, words.platform, [&](const auto& packages) {
        const auto items = pools::check_contract(words.contract, packages);
        return items &&
               std::ranges::none_of(*items, [](const auto& one) { return one.found.empty(); });
    });
}

std::optional<Looked> look_at_registry(Context& context, const ImageWords& words) {
    const auto image = registry::parse_reference(words.image);
    if (!image) {
        fail(context, kUsage, image.error().message);
        return std::nullopt;
    }
    auto contents = contents_of(words, *image);
    if (!contents) {
        const bool wrong = contents.error().code == ErrorCode::kInvalidInput;
        fail(context, wrong ? kUsage : kCouldNotRun, contents.error().message);
        return std::nullopt;
    }
    for (const std::string& remark : contents->remarks)
        context.err << "aliquot: warning: " << remark << '\n';
    auto packages = contents->packages;
    return Looked{std::move(packages), *std::move(contents)};
}

document::Value answer_of(const ImageWords& words, const std::vector<pools::ContractItem>& items,
                          const Looked& looked) {
    auto answer = document::make_mapping({{"contract", words.contract}});
    if (looked.contents) {
        const registry::ImageContents& contents = *looked.contents;
        document::append(answer, "image", words.image);
        document::append(answer, "digest", contents.digest);
        document::append(answer, "platform", contents.platform);
        document::append(answer, "layers", contents.layers);
        document::append(answer, "layersRead", contents.layers_read);
        document::append(answer, "bytesRead", contents.bytes_read);
    }
    document::append(
        answer, "items", document::make_sequence(items, [](const auto& one) {
            return document::make_mapping(
                {{"item", one.what}, {"found", one.found}, {"expected", one.expected}});
        }));
    return answer;
}

void print_looked(Context& context, const registry::ImageContents& contents) {
    context.out << contents.platform << ' ' << contents.digest << ": package lists of "
                << counted(contents.layers_read, "layer") << " of " << contents.layers << ", "
                << fixed_text(static_cast<double>(contents.bytes_read) / 1e6, 1) << " MB read\n";
}

void check_image(Context& context, const ImageWords& words) {
    const auto looked =
        is_file(words.image) ? look_at_file(context, words) : look_at_registry(context, words);
    if (!looked) return;
    const auto items = pools::check_contract(words.contract, looked->packages);
    if (!items) return fail(context, kUsage, items.error().message);
    std::vector<Row> rows{{"ITEM", "HAS", "EXPECTED"}};
    for (const auto& one : *items) {
        if (one.found.empty()) context.exit_code = kFindings;
        rows.push_back({one.what, one.found.empty() ? "missing" : one.found, one.expected});
    }
    if (words.format != "table") {
        return print_answer(context.out, "ImageCheck", answer_of(words, *items, *looked),
                            words.format);
    }
    print_rows(context.out, rows);
    if (looked->contents) print_looked(context, *looked->contents);
}

void add_options(command_line::Command& check, ImageWords& words) {
    check
        .add_option(
            "IMAGE", words.image,
            "Image in a registry, or a file with its bill of materials; - is standard input", " ")
        ->required();
    check.add_option("--contract", words.contract, "Which one", "NAME (ci-cuda)")
        ->one_of({"ci-cuda"});
    check.add_option("--platform", words.platform,
                     "Platform to choose, for a name with several images", "OS/ARCH (linux/amd64)");
    check.add_option(
        "--logins", words.logins,
        "File of docker login or podman login; default: $REGISTRY_AUTH_FILE, ~/.docker/config.json",
        "FILE");
    check.add_option("--registry-ca", words.ca_file,
                     "CA of the registry's certificate; default: the system's", "FILE");
    check.add_flag("--plain-http", words.plain_http, "Connect to the registry without TLS");
    check.add_option("--timeout", words.timeout_s, "For all that is read", "SECONDS (600)")
        ->range(1U, 86'400U);
}

}  // namespace

void add_image_command(command_line::Command& program, Context& context) {
    command_line::Command* image =
        program.add_subcommand("image", "Check what is in a container image");
    image->require_subcommand(1);
    image->footer("aliquot image check ghcr.io/org/runner:2.331 --contract ci-cuda");
    const auto words = std::make_shared<ImageWords>();
    command_line::Command* check = image->add_subcommand(
        "check",
        "Check what is in an image against a contract: by the lists of packages in its layers, "
        "read from "
        "its registry,\nor by a bill of materials (SPDX or CycloneDX, JSON)\n\nci-cuda: "
        "Ubuntu 22.04, CUDA 12.1, cuDNN, cmake, ninja, ccache, runner, numpy, PyYAML. Exit code 1: "
        "something is missing.");
    check->footer(
        "aliquot image check ghcr.io/org/runner:2.331 --contract ci-cuda\n"
        "aliquot image check localhost:5000/runner --plain-http -o json\n"
        "syft IMAGE -o spdx-json | aliquot image check - --contract ci-cuda");
    add_options(*check, *words);
    add_output(*check, words->format);
    check->callback([words, &context] { check_image(context, *words); });
}

}  // namespace aliquot::cli
