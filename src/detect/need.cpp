// SPDX-License-Identifier: Apache-2.0
#include "detect/need.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "detect/scope.h"

namespace aliquot::detect {
namespace {

constexpr std::size_t kWindow = 56;  // bytes to each side of the evidence
constexpr unsigned kMostGpus = 100000;

struct Word {
    std::string text;  // lower case
    std::size_t end = 0;
};

/// Names of cards as we print them; "rtx" and "gtx" take the next word along.
constexpr std::array<std::string_view, 30> kTypes = {
    "a100", "h100", "h200", "v100",  "p100",  "b200",  "b300",   "gh200", "gb200",  "l40s",
    "l40",  "l4",   "t4",   "a10g",  "a10",   "a40",   "a30",    "a16",   "a2",     "k80",
    "p40",  "p4",   "m60",  "a6000", "a5000", "a4000", "mi300x", "mi300", "mi250x", "mi250"};

constexpr std::array<std::pair<std::string_view, unsigned>, 12> kNumbers = {{{"a", 1},
                                                                             {"an", 1},
                                                                             {"one", 1},
                                                                             {"single", 1},
                                                                             {"two", 2},
                                                                             {"dual", 2},
                                                                             {"pair", 2},
                                                                             {"three", 3},
                                                                             {"four", 4},
                                                                             {"six", 6},
                                                                             {"eight", 8},
                                                                             {"sixteen", 16}}};

bool is_word_byte(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '.';
}

std::vector<Word> words_of(std::string_view text, std::size_t from, std::size_t to) {
    std::vector<Word> words;
    // Begin at a whole word: "32GB" must not be read as "2GB".
    while (from > 0 && from < to && is_word_byte(text[from - 1]) && is_word_byte(text[from]))
        ++from;
    for (std::size_t at = from; at < to;) {
        if (!is_word_byte(text[at])) {
            ++at;
            continue;
        }
        Word word;
        for (; at < text.size() && is_word_byte(text[at]) && word.text.size() < 32; ++at) {
            const char byte = text[at];
            word.text += byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + 32) : byte;
        }
        while (!word.text.empty() && word.text.back() == '.') word.text.pop_back();
        word.end = at;
        if (!word.text.empty()) words.push_back(std::move(word));
    }
    return words;
}

/// "a100", "a100s", "4xa100" -> "a100"
std::string type_of(std::string_view word) {
    if (word.find_first_of("0123456789") == std::string_view::npos) return {};
    if (const std::size_t x = word.find('x');
        x != std::string_view::npos && x > 0 && word.find_first_not_of("0123456789") == x) {
        word.remove_prefix(x + 1);
    }
    for (const std::string_view type : kTypes) {
        if (word == type) return std::string(type);
        if (word.size() == type.size() + 1 && word.back() == 's' && word.starts_with(type)) {
            return std::string(type);
        }
    }
    return {};
}

std::string type_at(const std::vector<Word>& words, std::size_t at) {
    const std::string_view word = words[at].text;
    if ((word == "rtx" || word == "gtx") && at + 1 < words.size()) {
        const std::string_view next = words[at + 1].text;
        if (next.find_first_of("0123456789") == std::string::npos || next.find('x') < 2) return {};
        return std::string(word) + '-' + std::string(next);
    }
    if (word == "3090" || word == "4090" || word == "5090" || word == "3090s" || word == "4090s") {
        return "rtx-" + std::string(word.substr(0, 4));
    }
    return type_of(word);
}

/// A count of the form 4, 4x or four; 0 for none.
unsigned count_of(std::string_view word) {
    for (const auto& [name, number] : kNumbers) {
        if (word == name) return number;
    }
    unsigned number = 0;
    const auto [stop, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
    const std::string_view rest(stop, static_cast<std::size_t>(word.data() + word.size() - stop));
    if (problem != std::errc{} || !(rest.empty() || rest == "x")) return 0;
    return number <= 1024 ? number : 0;
}

bool is_gpu_word(std::string_view word) {
    for (const std::string_view known : {"gpu", "gpus", "card", "cards", "nvidia", "tesla",
                                         "geforce", "rtx", "gtx", "accelerators", "x"}) {
        if (word == known) return true;
    }
    return false;
}

double gibibytes_of(const std::vector<Word>& words, std::size_t at) {
    const std::string_view word = words[at].text;
    double number = 0;
    const auto [stop, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (problem != std::errc{} || number <= 0 || number > 2000) return 0;
    const std::string_view rest(stop, static_cast<std::size_t>(word.data() + word.size() - stop));
    if (rest == "gb" || rest == "gib" || rest == "g" || rest == "gi") return number;
    if (!rest.empty() || at + 1 >= words.size()) return 0;
    const std::string_view unit = words[at + 1].text;
    return unit == "gb" || unit == "gib" ? number : 0;
}

class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}

    void read(const Evidence& evidence) {
        if (evidence.weight <= 0 || evidence.scope == Scope::kSwitchedOff) return;
        const std::size_t from = evidence.start > kWindow ? evidence.start - kWindow : 0;
        const std::size_t to = std::min(text_.size(), evidence.end + kWindow);
        const auto words = words_of(text_, from, to);
        if (evidence.source == Source::kAsk) read_switch(evidence);
        if (evidence.source <= Source::kHardware) read_cards(words);
        read_parameters(words);
        read_manner(words);
    }

    Need finish() {
        if (!need_.memory_gib) estimate();
        return need_;
    }

private:
    void set_count(unsigned count) {
        if (count == 0 || count > kMostGpus) return;
        if (!need_.count || *need_.count < count) need_.count = count;
    }

    void read_switch(const Evidence& evidence) {
        const bool flag = evidence.start > 0 && text_[evidence.start - 1] == '-';
        Value value = value_behind(text_, evidence.end, flag);
        const std::string_view name = text_.substr(evidence.start, evidence.end - evidence.start);
        const auto ends = [&](std::string_view tail) { return name.ends_with(tail); };
        if (ends("layers") || ends("ngl") || ends("use_gpu") || ends("cuda")) return;
        if (ends("DEVICES")) {
            if (value.form == Value::Form::kNumber) set_count(1);
            if (value.form == Value::Form::kList) set_count(value.number);
            return;
        }
        if (value.form == Value::Form::kNumber) {
            set_count(value.number);
        } else if (value.form == Value::Form::kOn) {  // gres=gpu:a100:4
            const std::size_t colon = text_.find(':', evidence.end + 1);
            if (colon < evidence.end + 12) {
                const Value second = value_behind(text_, colon, false);
                if (second.form == Value::Form::kNumber) set_count(second.number);
            }
        }
        if (name.size() > 2 && name.back() >= '0' && name.back() <= '9') {  // "gpus 2"
            set_count(static_cast<unsigned>(name.back() - '0'));
        }
    }

    void read_cards(const std::vector<Word>& words) {
        for (std::size_t i = 0; i < words.size(); ++i) {
            const std::string type = type_at(words, i);
            const bool card = !type.empty();
            if (!card && !is_gpu_word(words[i].text) && words[i].text != "vram") continue;
            if (card && need_.type.empty()) need_.type = type;
            read_count(words, i, card);
            read_memory(words, i, card);
        }
    }

    void read_count(const std::vector<Word>& words, std::size_t at, bool card) {
        const std::string_view word = words[at].text;
        if (card && word.find('x') != std::string::npos && word.front() >= '0' &&
            word.front() <= '9') {
            set_count(count_of(word.substr(0, word.find('x'))));
            return;
        }
        if (!card && word != "gpu" && word != "gpus" && word != "card" && word != "cards") return;
        std::size_t from = at;
        while (from > 0 && at - from < 3 &&
               (is_gpu_word(words[from - 1].text) || !type_at(words, from - 1).empty() ||
                gibibytes_of(words, from - 1) > 0 || words[from - 1].text == "gb" ||
                words[from - 1].text == "of")) {
            --from;
        }
        if (from > 0) set_count(count_of(words[from - 1].text));
        if (card && at + 2 < words.size() && words[at + 1].text == "x") {
            set_count(count_of(words[at + 2].text));
        }
    }

    void read_memory(const std::vector<Word>& words, std::size_t at, bool card) {
        for (std::size_t i = at > 4 ? at - 4 : 0; i < words.size() && i < at + 4; ++i) {
            const double gib = gibibytes_of(words, i);
            if (gib <= 0) continue;
            const std::size_t after = i + (words[i].text.back() >= 'a' ? 1 : 2);
            const bool host = after < words.size() &&
                              (words[after].text == "ram" || words[after].text == "disk" ||
                               words[after].text == "tables" || words[after].text == "dataset");
            const bool near = !card || (i + 3 >= at && i <= at + 2);
            if (host || !near || need_.memory_gib) continue;
            need_.memory_gib = gib;
            need_.memory_reason = "stated";
        }
    }

    void read_parameters(const std::vector<Word>& words) {
        for (std::size_t i = 0; i < words.size(); ++i) {
            const std::string_view word = words[i].text;
            double number = 0;
            const char* const end = word.data() + word.size();
            auto [stop, problem] = std::from_chars(word.data(), end, number);
            if (problem != std::errc{}) continue;
            if (stop != end && *stop == 'x') {  // 8x7b: all experts are resident
                double each = 0;
                const auto [last, wrong] = std::from_chars(stop + 1, end, each);
                if (wrong != std::errc{}) continue;
                number *= each;
                stop = last;
            }
            const std::string_view rest(stop, static_cast<std::size_t>(end - stop));
            const bool spelled =
                rest.empty() && i + 1 < words.size() && words[i + 1].text == "billion";
            if (rest != "b" && rest != "bn" && !spelled) continue;
            if (number > 0.01 && number < 5000) billions_ = std::max(billions_, number);
        }
    }

    void read_manner(const std::vector<Word>& words) {
        for (const Word& word : words) {
            const std::string_view name = word.text;
            if (name == "lora" || name == "qlora" || name == "peft") adapters_ = true;
            if (name == "qlora" || name == "4bit" || name == "int4" || name == "gptq" ||
                name == "awq" || name == "nf4" || name == "bit")
                four_bit_ = true;
            if (name == "int8" || name == "8bit" || name == "fp8") eight_bit_ = true;
            if (name.starts_with("finetun") || name == "tune" || name == "tuning" ||
                name.starts_with("pretrain") || name.starts_with("train"))
                training_ = true;
        }
    }

    /// Weights only, with the usual allowance; `aliquot size` knows more.
    void estimate() {
        if (billions_ <= 0) return;
        const double weights = four_bit_ ? 0.55 : eight_bit_ ? 1.0 : 2.0;
        const bool full = training_ && !adapters_ && !four_bit_;
        const double each = full ? 16.0 : weights * 1.2;
        const double gib = billions_ * 1e9 * each / (1024.0 * 1024.0 * 1024.0);
        need_.memory_gib = std::round(gib * 10) / 10;
        std::array<char, 160> line{};
        std::snprintf(line.data(), line.size(), "%g billion parameters x %g bytes (%s)", billions_,
                      each,
                      full ? "mixed-precision Adam, all GPUs together, activations not counted"
                      : adapters_ ? "weights + 20 %, adapters not counted"
                                  : "weights + 20 %, KV cache not counted");
        need_.memory_reason = line.data();
    }

    std::string_view text_;
    Need need_;
    double billions_ = 0;
    bool adapters_ = false;
    bool four_bit_ = false;
    bool eight_bit_ = false;
    bool training_ = false;
};

}  // namespace

Need read_need(std::string_view text, std::span<const Evidence> evidence) {
    Reader reader(text);
    for (const Evidence& one : evidence) reader.read(one);
    return reader.finish();
}

}  // namespace aliquot::detect
