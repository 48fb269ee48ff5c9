// A list of words as a filter: filled, frozen, read in place, and looked up by several threads at once.
//
// Exits with 1 if a check fails.
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "trommel.hpp"

static_assert(!std::is_copy_constructible_v<trommel::filter>);
static_assert(std::is_nothrow_move_constructible_v<trommel::filter>);
static_assert(std::is_nothrow_move_assignable_v<trommel::view>);
static_assert(!std::is_constructible_v<trommel::view, trommel::bytes &&>);

namespace {

void require(bool holds, const char *what) {
    if (!holds) {
        throw std::runtime_error(what);
    }
}

void word_list() {
    trommel::filter words("cuckoo", 1000, 0.01, 7);
    for (const char *word : {"anvil", "forge", "tongs"}) {
        words.insert(word);
    }
    require(words.remove("forge") && words.len() == 2, "the word was not removed");
    trommel::filter more("cuckoo", 1000, 0.01, 7);
    more.insert("bellows");
    words.merge(more);

    const trommel::filter moved = std::move(words);
    const trommel::bytes frozen = moved.freeze();
    const trommel::view view(frozen);
    std::vector<std::thread> readers;
    std::vector<char> found(2);
    for (std::size_t i = 0; i < found.size(); i++) {
        readers.emplace_back([&view, &found, i] {
            found[i] = view.contains("anvil") && view.contains("bellows") && !view.contains("forge");
        });
    }
    for (std::thread &reader : readers) {
        reader.join();
    }
    require(found[0] && found[1], "a thread got a wrong answer from the view");
    require(trommel::filter::thaw(frozen.data(), frozen.size()).freeze() == frozen, "the thawed filter differs");
    const std::vector<std::uint64_t> hashes{view.hash("anvil"), moved.hash("absent word")};
    require(view.contains_hashes(hashes.data(), 2) == std::vector<std::uint64_t>{1}, "wrong answers from the view");
    require(moved.contains_hashes(hashes.data(), 2) == std::vector<std::uint64_t>{1}, "wrong answers from the filter");
    std::printf("%llu words in %zu bytes\n", static_cast<unsigned long long>(moved.len()),
                frozen.size());
}

void filter_block() {
    const trommel::policy policy("split-block-bloom", 12.0);
    const trommel::bytes block = policy.build({"anvil", "forge", std::string_view()});
    require(block.size() == policy.size(3), "the size is not exact");
    require(policy.may_match("anvil", block) && policy.may_match("", block), "a key is not found");
    require(!policy.may_match("bellows", block), "an absent key is not excluded");
    require(policy.may_match("bellows", nullptr, 0), "an empty block excludes a key");
    policy.verify(block.data(), block.size());
    std::printf("%s: %zu bytes\n", policy.name(), block.size());
}

void failures() {
    try {
        trommel::filter("bloom", 10, 2.0);
        require(false, "a false-positive rate of 2 was not refused");
    } catch (const trommel::error &error) {
        require(error.status() == TROMMEL_SPEC, error.what());
        std::printf("refused: %s\n", error.what());
    }
}

} // namespace

int main() {
    try {
        word_list();
        filter_block();
        failures();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
