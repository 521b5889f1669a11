// SPDX-License-Identifier: Apache-2.0
// Any bytes through the whole linter as YAML, Markdown, RST, Dockerfile, shell and the standard input:
// nothing crashes or hangs, every finding lies inside the file, and fixes can be applied.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "lint/fix.h"
#include "lint/lint.h"

namespace {

using namespace aliquot;

void expect(bool holds) {
    if (!holds) std::abort();
}

void run(const char* name, const std::string& bytes) {
    std::vector<std::unique_ptr<lint::File>> files;
    files.push_back(lint::read_file(name, bytes));
    const lint::File& file = *files.back();
    expect(file.text.size() == file.original.size());
    const auto lines = static_cast<unsigned>(file.line_starts.size());
    for (const auto& object : file.objects)
        expect(object.node != nullptr && object.mark().line <= lines);
    for (const auto& command : file.commands) expect(command.mark.line <= lines);
    const lint::Set set(std::move(files));
    const auto found = lint::check(set, nullptr, 1);
    for (const auto& one : found) expect(one.line <= lines);
    (void)lint::apply_fixes(set.files().front()->original, found);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kMost = 1U << 16U;
    const std::string bytes(reinterpret_cast<const char*>(data), size < kMost ? size : kMost);
    for (const char* name : {"a.yaml", "a.md", "a.rst", "Dockerfile", "a.sh", "<stdin>"})
        run(name, bytes);
    return 0;
}
