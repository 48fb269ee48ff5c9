// Measures Trommel's policies and LevelDB's own Bloom policy in one run, at 10 bits per key. Prints tables in Markdown.
//
//     bench [REPETITIONS [BUILD_REPETITIONS]]
//
// Databases are built BUILD_REPETITIONS times (5 by default); everything else is measured REPETITIONS times (51 by
// default). Times and numbers of gets are medians, with the best value in brackets. Each repetition measures all
// policies; the policy that comes first changes with each repetition. The program exits with 1 if a present key is not
// found or a database returns an absent key.
#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <vector>

#include "leveldb/write_batch.h"
#include "support.h"

namespace {

constexpr int kBitsPerKey = 10;
constexpr std::size_t kKeyBytes = 16, kValueBytes = 100;
constexpr std::uint64_t kAbsent = 1'000'000'000;

struct Subject {
    std::string name;
    Policy policy;
};

std::vector<Subject> Subjects() {
    std::vector<Subject> subjects;
    subjects.push_back({"LevelDB's Bloom", Policy(leveldb::NewBloomFilterPolicy(kBitsPerKey))});
    for (const char *kind : {"bloom", "split-block-bloom", "cache-line-bloom"}) {
        subjects.push_back({kind, Ours(kind, kBitsPerKey)});
    }
    return subjects;
}

std::uint64_t Identity(std::uint64_t i) {
    return i;
}

// Keys that lie one after another in memory, so that reading them is cheap and costs every policy the same.
class Keys {
public:
    // Holds `KeyOf(first + number(i))` for `i` from 0 to `n` - 1.
    Keys(std::uint64_t first, std::size_t n, const std::function<std::uint64_t(std::uint64_t)> &number = Identity) {
        for (std::size_t i = 0; i < n; i++) {
            bytes_ += KeyOf(first + number(i));
        }
        for (std::size_t i = 0; i < n; i++) {
            slices_.emplace_back(&bytes_[i * kKeyBytes], kKeyBytes);
        }
    }
    Keys(const Keys &) = delete;
    Keys &operator=(const Keys &) = delete;

    const std::vector<leveldb::Slice> &slices() const { return slices_; }

private:
    std::string bytes_;
    std::vector<leveldb::Slice> slices_;
};

std::string FilterOf(const leveldb::FilterPolicy &policy, const std::vector<leveldb::Slice> &keys) {
    std::string filter;
    policy.CreateFilter(keys.data(), static_cast<int>(keys.size()), &filter);
    return filter;
}

double Seconds(const std::function<void()> &work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Repeated measurements of one quantity.
struct Samples {
    std::vector<double> values;

    double Median() const {
        std::vector<double> sorted = values;
        std::sort(sorted.begin(), sorted.end());
        const std::size_t half = sorted.size() / 2;
        return sorted.size() % 2 != 0 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    }
    double Lowest() const { return *std::min_element(values.begin(), values.end()); }
};

// Calls `measure(i)` for every `i` below `n`, `repetitions` times. Repetition `r` starts with `i` = `r` % `n`.
void Interleave(int repetitions, std::size_t n, const std::function<void(std::size_t)> &measure) {
    for (int repetition = 0; repetition < repetitions; repetition++) {
        for (std::size_t i = 0; i < n; i++) {
            measure((i + static_cast<std::size_t>(repetition)) % n);
        }
    }
}

std::size_t Matches(const leveldb::FilterPolicy &policy, const std::vector<leveldb::Slice> &keys,
                    const std::string &filter) {
    std::size_t matches = 0;
    for (const leveldb::Slice &key : keys) {
        matches += policy.KeyMayMatch(key, filter);
    }
    return matches;
}

// Returns the false-positive rate of about a million lookups of absent keys, spread evenly over filters of `n` keys. If
// `n` is at most 20,000, there are several filters, which together hold at most 40,000 keys. For a larger `n`, there is
// one filter.
double FalsePositives(const leveldb::FilterPolicy &policy, std::size_t n) {
    const std::size_t filters = std::max<std::size_t>(1, 40'000 / n), lookups = 1'000'000 / filters;
    std::size_t matches = 0;
    for (std::size_t i = 0; i < filters; i++) {
        const Keys keys(i * n, n), absent(kAbsent + i * lookups, lookups);
        matches += Matches(policy, absent.slices(), FilterOf(policy, keys.slices()));
    }
    return static_cast<double>(matches) / static_cast<double>(filters * lookups);
}

void Filters(const std::vector<Subject> &subjects, int repetitions) {
    constexpr std::size_t kLookups = 1 << 16;
    std::printf("| keys in the filter | policy | bytes | absent, ns | present, ns | build, ns per key | "
                "false positives |\n|---:|---|---:|---:|---:|---:|---:|\n");
    for (const std::size_t n : {std::size_t{18}, std::size_t{1600}, std::size_t{800'000}}) {
        const Keys keys(0, n), absent(kAbsent, kLookups);
        const Keys present(0, kLookups, [n](std::uint64_t i) { return Mix(i) % n; });
        std::vector<std::string> filters;
        for (const Subject &subject : subjects) {
            filters.push_back(FilterOf(*subject.policy, keys.slices()));
        }
        std::vector<std::array<Samples, 3>> samples(subjects.size());
        const std::size_t builds = std::max<std::size_t>(1, 100'000 / n);
        Interleave(repetitions, subjects.size(), [&](std::size_t i) {
            const leveldb::FilterPolicy &policy = *subjects[i].policy;
            std::size_t matches = 0;
            const double absent_seconds = Seconds([&] { matches = Matches(policy, absent.slices(), filters[i]); });
            Require(matches < kLookups / 5, subjects[i].name + ": few absent keys match");
            const double present_seconds = Seconds([&] { matches = Matches(policy, present.slices(), filters[i]); });
            Require(matches == kLookups, subjects[i].name + ": every present key matches");
            std::string filter;
            const double build_seconds = Seconds([&] {
                for (std::size_t build = 0; build < builds; build++) {
                    filter.clear();
                    policy.CreateFilter(keys.slices().data(), static_cast<int>(n), &filter);
                }
            });
            Require(filter == filters[i], subjects[i].name + ": a rebuilt filter is the same");
            samples[i][0].values.push_back(absent_seconds / kLookups * 1e9);
            samples[i][1].values.push_back(present_seconds / kLookups * 1e9);
            samples[i][2].values.push_back(build_seconds / static_cast<double>(builds * n) * 1e9);
        });
        for (std::size_t i = 0; i < subjects.size(); i++) {
            std::printf("| %zu | %s | %zu |", n, subjects[i].name.c_str(), filters[i].size());
            for (const Samples &column : samples[i]) {
                std::printf(" %.1f [%.1f] |", column.Median(), column.Lowest());
            }
            std::printf(" %.2f %% |\n", 100 * FalsePositives(*subjects[i].policy, n));
            std::fflush(stdout);
        }
    }
}

// Values of random bytes, which Snappy, LevelDB's compression, cannot make smaller.
class Values {
public:
    Values() {
        for (std::uint64_t i = 0; bytes_.size() < kPool + kValueBytes; i++) {
            const std::uint64_t word = Mix(i);
            bytes_.append(reinterpret_cast<const char *>(&word), sizeof word);
        }
    }
    leveldb::Slice Of(std::uint64_t number) const { return {&bytes_[Mix(~number) % kPool], kValueBytes}; }

private:
    static constexpr std::size_t kPool = 16 << 20;
    std::string bytes_;
};

double FileBytes(const std::string &path) {
    double bytes = 0;
    for (const auto &entry : std::filesystem::directory_iterator(path)) {
        bytes += static_cast<double>(entry.file_size());
    }
    return bytes;
}

void Build(const leveldb::Options &options, const std::string &path, const Values &values, std::uint64_t n) {
    const Database db = Open(options, path);
    leveldb::WriteBatch batch;
    for (std::uint64_t i = 0; i < n; i++) {
        batch.Put(KeyOf(i), values.Of(i));
        if (i % 100 == 99 || i + 1 == n) {
            Require(db->Write(leveldb::WriteOptions(), &batch), "write");
            batch.Clear();
        }
    }
    db->CompactRange(nullptr, nullptr);
}

void Databases(std::vector<Subject> subjects, int build_repetitions, int repetitions) {
    constexpr std::uint64_t n = 1'000'000, lookups = 200'000;
    // A database without filters is measured too. The size of each database is compared with the size of the database
    // that has LevelDB's own policy.
    subjects.push_back({"no filter", nullptr});
    const TemporaryDirectory scratch;
    const Values values;
    const Keys all(0, n), absent(kAbsent, lookups);
    const Keys present(0, lookups, [](std::uint64_t i) { return Mix(i) % n; });
    std::vector<std::array<Samples, 4>> samples(subjects.size());
    std::vector<leveldb::Options> options;
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < subjects.size(); i++) {
        options.push_back(OptionsWith(subjects[i].policy.get()));
        paths.push_back(scratch / std::to_string(i).c_str());
    }
    Interleave(build_repetitions, subjects.size(), [&](std::size_t i) {
        std::filesystem::remove_all(paths[i]);
        samples[i][0].values.push_back(Seconds([&] { Build(options[i], paths[i], values, n); }));
        samples[i][1].values.push_back(FileBytes(paths[i]));
    });

    std::string value;
    std::vector<Database> databases;
    for (std::size_t i = 0; i < subjects.size(); i++) {
        databases.push_back(Open(options[i], paths[i]));
        // Gets of all keys open the tables and fill the page cache.
        for (std::uint64_t number = 0; number < n; number++) {
            Require(databases[i]->Get(leveldb::ReadOptions(), all.slices()[number], &value), "get");
            Require(values.Of(number) == value, subjects[i].name + ": a key has its value");
        }
    }
    Interleave(repetitions, subjects.size(), [&](std::size_t i) {
        samples[i][2].values.push_back(Seconds([&] {
            for (const leveldb::Slice &key : absent.slices()) {
                Require(databases[i]->Get(leveldb::ReadOptions(), key, &value).IsNotFound(), "no absent key is found");
            }
        }));
        samples[i][3].values.push_back(Seconds([&] {
            for (const leveldb::Slice &key : present.slices()) {
                Require(databases[i]->Get(leveldb::ReadOptions(), key, &value), "get");
            }
        }));
    });
    std::printf("\n| policy | build, s | bytes | absent, thousand gets per second | "
                "present, thousand gets per second |\n"
                "|---|---:|---:|---:|---:|\n");
    for (std::size_t i = 0; i < subjects.size(); i++) {
        const auto &[build, size, absent_seconds, present_seconds] = samples[i];
        const auto per_second = [](double seconds) { return lookups / seconds / 1e3; };
        std::printf("| %s | %.1f [%.1f] | %.0f (%+.2f %%) | %.0f [%.0f] | %.0f [%.0f] |\n", subjects[i].name.c_str(),
                    build.Median(), build.Lowest(), size.Median(),
                    100 * (size.Median() / samples[0][1].Median() - 1), per_second(absent_seconds.Median()),
                    per_second(absent_seconds.Lowest()), per_second(present_seconds.Median()),
                    per_second(present_seconds.Lowest()));
    }

    CountingPolicy counting(Ours("split-block-bloom", kBitsPerKey));
    Build(OptionsWith(&counting), scratch / "counted", values, n / 10);
    std::printf("\nA filter of such a database has %.0f keys on average.\n",
                static_cast<double>(counting.keys_in_filters) / static_cast<double>(counting.filters));
}

} // namespace

int main(int argc, char **argv) {
    const int repetitions = argc > 1 ? std::atoi(argv[1]) : 51;
    const int build_repetitions = argc > 2 ? std::atoi(argv[2]) : 5;
    if (argc > 3 || repetitions <= 0 || build_repetitions <= 0) {
        std::fprintf(stderr, "usage: bench [REPETITIONS [BUILD_REPETITIONS]]\n");
        return 2;
    }
    Filters(Subjects(), repetitions);
    Databases(Subjects(), build_repetitions, repetitions);
}
