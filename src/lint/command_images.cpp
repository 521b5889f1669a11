// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lint/reading.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

void add(File& file, std::size_t command, const Word& word) {
    Image image = read_image(word.text);
    if (image.repository.empty()) return;
    image.source = Image::Source::kCommand;
    image.mark = word.mark;
    const bool flag =
        file.line(word.mark.line)
            .substr(std::min<std::size_t>(word.mark.column - 1, file.line(word.mark.line).size()))
            .substr(0, 8) == "--image=";
    if (flag) image.mark.column += 8;
    image.command = static_cast<int>(command);
    file.images.push_back(std::move(image));
}

bool runs_images(const Command& command) {
    return command.is("docker") || command.is("podman") || command.is("nerdctl") ||
           command.is("ctr") || command.is("crictl");
}

}  // namespace

void read_command_images(File& file) {
    for (std::size_t i = 0; i < file.commands.size(); ++i) {
        const Command& command = file.commands[i];
        if (command.is("kubectl")) {
            for (const Word& word : command.values("--image")) add(file, i, word);
            continue;
        }
        if (!runs_images(command)) continue;
        const auto words = command.positionals();
        // docker run IMAGE, docker pull IMAGE, ctr image pull IMAGE
        std::size_t at = 0;
        while (at < words.size() && (words[at]->text == "image" || words[at]->text == "images" ||
                                     words[at]->text == "container")) {
            ++at;
        }
        if (at + 1 >= words.size()) continue;
        const std::string& verb = words[at]->text;
        if (verb == "run" || verb == "pull" || verb == "create") add(file, i, *words[at + 1]);
    }
}

}  // namespace aliquot::lint
