// SPDX-License-Identifier: Apache-2.0
#include "install/diff.h"

#include "base/diff.h"
#include "document/write.h"
#include "document/yaml.h"

namespace aliquot::install {
namespace {

using document::Value;

void drop(Value& mapping, std::string_view key) {
    std::erase_if(mapping.entries,
                  [&](const Value::Entry& entry) { return entry.first.scalar == key; });
}

}  // namespace

std::string readable(std::string_view json) {
    auto read = document::parse_yaml(json);
    if (read.documents.empty() || !read.documents[0].is_mapping()) return {};
    Value& root = read.documents[0];
    drop(root, "status");
    for (Value::Entry& entry : root.entries) {
        if (entry.first.scalar == "metadata") {
            for (const auto* key : {"managedFields", "resourceVersion", "uid", "creationTimestamp",
                                    "generation", "selfLink"}) {
                drop(entry.second, key);
            }
        }
    }
    const Value* const kind = root.find("kind");
    if (kind != nullptr && kind->scalar == "Secret") {
        drop(root, "data");
        drop(root, "stringData");
    }
    return document::to_yaml(root);
}

std::string line_diff(std::string_view before, std::string_view after) {
    std::string text;
    for (const DiffHunk& hunk : diff_lines(before, after)) {
        if (hunk.old_begin + hunk.new_begin > 0) text += " ...\n";
        for (const DiffLine& line : hunk.lines) {
            text += line.sign;
            text.append(line.text);
            if (!line.text.ends_with('\n')) text += '\n';
        }
    }
    return text;
}

}  // namespace aliquot::install
