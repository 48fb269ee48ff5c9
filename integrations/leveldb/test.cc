// Tests the policy in real databases, in a temporary directory.
//
//     test [--kills N]     kills N processes in the middle of writes; default: 20
//
// Exits with 1 at the first claim that does not hold.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string_view>
#include <vector>

#include "kill.h"
#include "leveldb/write_batch.h"
#include "support.h"

namespace {

struct Kind {
    const char *name;
    double bits_per_key;
};

// All kinds that have a block form.
constexpr Kind kKinds[] = {{"bloom", 10},
                           {"register-bloom", 10},
                           {"split-block-bloom", 10},
                           {"cache-line-bloom", 10},
                           {"quotient", 10},
                           {"cache-line-quotient", 12},
                           {"cuckoo", 12}};

std::string FilterOf(const leveldb::FilterPolicy &policy, const std::vector<std::string> &keys) {
    const std::vector<leveldb::Slice> slices(keys.begin(), keys.end());
    std::string filter;
    policy.CreateFilter(slices.data(), static_cast<int>(slices.size()), &filter);
    return filter;
}

std::vector<std::string> Keys(std::uint64_t first, std::uint64_t n) {
    std::vector<std::string> keys;
    for (std::uint64_t i = 0; i < n; i++) {
        keys.push_back(KeyOf(first + i));
    }
    return keys;
}

// Writes keys 0 to n - 1, each with itself as its value, then compacts all into tables.
void Fill(leveldb::DB &db, std::uint64_t n) {
    leveldb::WriteBatch batch;
    for (std::uint64_t i = 0; i < n; i++) {
        const std::string key = KeyOf(i);
        batch.Put(key, key);
        if (i % 1000 == 999 || i + 1 == n) {
            Require(db.Write(leveldb::WriteOptions(), &batch), "write");
            batch.Clear();
        }
    }
    db.CompactRange(nullptr, nullptr);
}

void RequireAllFound(leveldb::DB &db, std::uint64_t n) {
    std::string value;
    for (std::uint64_t i = 0; i < n; i++) {
        const std::string key = KeyOf(i);
        Require(db.Get(leveldb::ReadOptions(), key, &value), "get key " + std::to_string(i));
        Require(value == key, "the value of key " + std::to_string(i));
    }
}

void RequireNoneFound(leveldb::DB &db, std::uint64_t first, std::uint64_t n) {
    std::string value;
    for (std::uint64_t i = first; i < first + n; i++) {
        Require(db.Get(leveldb::ReadOptions(), KeyOf(i), &value).IsNotFound(),
                "absent key " + std::to_string(i) + " is not found");
    }
}

// All of a million keys are found, no key of a million absent keys is found, and filters exclude at least nine tenths
// of the absent keys.
void a_million_keys_are_found_and_absent_ones_excluded(const TemporaryDirectory &scratch) {
    constexpr std::uint64_t n = 1'000'000;
    const std::string path = scratch / "million";
    CountingPolicy policy(Ours("split-block-bloom"));
    Fill(*Open(OptionsWith(&policy), path), n);
    Require(policy.filters > 0 && policy.bytes_of_filters > 0, "filters are built");

    policy.Reset();
    const Database db = Open(OptionsWith(&policy), path);
    RequireAllFound(*db, n);
    Require(policy.excluded == 0, "no filter excludes a present key");
    Require(policy.maybe >= n, "every key goes through a filter");
    policy.Reset();
    RequireNoneFound(*db, n, n);
    // Not all absent keys are excluded. Some are false positives, and LevelDB checks no filter for a key that falls
    // between two tables.
    Require(policy.excluded >= n / 10 * 9,
            "filters exclude nine tenths of the absent keys, not only " + std::to_string(policy.excluded));
}

void every_kind_answers_right(const TemporaryDirectory &scratch) {
    constexpr std::uint64_t n = 20'000;
    for (const Kind &kind : kKinds) {
        const std::string path = scratch / kind.name;
        CountingPolicy policy(Ours(kind.name, kind.bits_per_key, 42));
        Fill(*Open(OptionsWith(&policy), path), n);
        policy.Reset();
        const Database db = Open(OptionsWith(&policy), path);
        RequireAllFound(*db, n);
        Require(policy.excluded == 0 && policy.maybe >= n, std::string(kind.name) + ": filters exclude no present key");
        policy.Reset();
        RequireNoneFound(*db, n, n);
        Require(policy.excluded >= n / 10 * 9, std::string(kind.name) + ": filters exclude absent keys");
    }
}

// LevelDB does not show the filters of one policy to a policy with another name. Every database answers right with
// every policy.
void a_policy_of_another_name_ignores_filters(const TemporaryDirectory &scratch) {
    constexpr std::uint64_t n = 20'000;
    const auto make = [](int which) {
        switch (which) {
        case 0: return Policy(leveldb::NewBloomFilterPolicy(10));
        case 1: return Ours("bloom");
        case 2: return Ours("split-block-bloom");
        default: return Ours("bloom", 10.0, 1);
        }
    };
    for (int writer = 0; writer < 4; writer++) {
        const std::string path = scratch / ("names-" + std::to_string(writer)).c_str();
        {
            const Policy policy = make(writer);
            Fill(*Open(OptionsWith(policy.get()), path), n);
        }
        for (int reader = 0; reader < 4; reader++) {
            CountingPolicy policy(make(reader));
            const Database db = Open(OptionsWith(&policy), path);
            RequireAllFound(*db, n);
            RequireNoneFound(*db, n, n);
            Require((policy.Asked() > 0) == (reader == writer),
                    "policy " + std::to_string(reader) + " uses only filters that it wrote; these are by policy " +
                        std::to_string(writer));
        }
        const Database without = Open(OptionsWith(nullptr), path);
        RequireAllFound(*without, n);
    }
}

// Old filters stay in use when only the bits per key change.
void bits_per_key_may_change(const TemporaryDirectory &scratch) {
    constexpr std::uint64_t n = 5'000;
    const std::string path = scratch / "bits";
    {
        const Policy policy = Ours("cache-line-bloom", 8);
        Fill(*Open(OptionsWith(policy.get()), path), n);
    }
    CountingPolicy policy(Ours("cache-line-bloom", 16));
    const Database db = Open(OptionsWith(&policy), path);
    RequireAllFound(*db, n);
    RequireNoneFound(*db, n, n);
    Require(policy.excluded > 0, "filters built with a different number of bits per key are used");
}

void filters_are_appended_and_exactly_sized() {
    for (const Kind &kind : kKinds) {
        const Policy policy = Ours(kind.name, kind.bits_per_key);
        trommel_policy *same = nullptr;
        Require(trommel_policy_new(kind.name, kind.bits_per_key, 0, &same) == TROMMEL_OK, "policy");
        for (const std::uint64_t n : {0, 1, 2, 18, 63, 64, 65, 255, 256, 257, 1600, 20000}) {
            const std::string what = std::string(kind.name) + " of " + std::to_string(n) + " keys";
            const std::vector<std::string> keys = Keys(0, n);
            const std::vector<leveldb::Slice> slices(keys.begin(), keys.end());
            std::string dst = "before";
            policy->CreateFilter(slices.data(), static_cast<int>(n), &dst);
            Require(dst.compare(0, 6, "before") == 0, what + ": bytes before the filter are kept");
            const std::string block = dst.substr(6);
            Require(block.size() == trommel_policy_size(same, n), what + ": the predicted size");
            Require(trommel_policy_verify(same, block.data(), block.size()) == TROMMEL_OK, what + ": a valid block");
            for (const std::string &key : keys) {
                Require(policy->KeyMayMatch(key, block), what + ": every key is found");
            }
        }
        trommel_policy_free(same);
    }
}

// If snapshots need several versions of a key, LevelDB keeps these versions, and gives CreateFilter the key once for
// each of them.
void versions_of_a_key_are_added_once(const TemporaryDirectory &scratch) {
    for (const Kind &kind : kKinds) {
        const Policy policy = Ours(kind.name, kind.bits_per_key);
        std::vector<std::string> versions;
        for (const std::string &key : Keys(0, 30)) {
            versions.insert(versions.end(), 50, key);
        }
        Require(FilterOf(*policy, versions) == FilterOf(*policy, Keys(0, 30)),
                std::string(kind.name) + ": versions of a key do not change the filter");
    }
    CountingPolicy policy(Ours("cuckoo", 12));
    const Database db = Open(OptionsWith(&policy), scratch / "versions");
    std::vector<const leveldb::Snapshot *> snapshots;
    for (int version = 0; version < 50; version++) {
        for (const std::string &key : Keys(0, 30)) {
            Require(db->Put(leveldb::WriteOptions(), key, key), "put");
        }
        snapshots.push_back(db->GetSnapshot());
    }
    db->CompactRange(nullptr, nullptr);
    Require(policy.keys_in_filters >= 1500, "CreateFilter is given every version");
    RequireAllFound(*db, 30);
    RequireNoneFound(*db, 30, 1000);
    Require(policy.excluded >= 800, "filters of versions exclude absent keys");
    for (const leveldb::Snapshot *snapshot : snapshots) {
        db->ReleaseSnapshot(snapshot);
    }
}

// The keys of this test are chosen for the seed: their hashes are all small, so all keys fall into the same few buckets
// of a cuckoo filter and do not fit. A cuckoo policy then appends nothing, and the missing filter excludes no key.
// Policies of all other kinds must find the keys.
void keys_that_do_not_fit_leave_no_filter(const TemporaryDirectory &scratch) {
    trommel_policy *hasher = nullptr;
    Require(trommel_policy_new("bloom", 10, 0, &hasher) == TROMMEL_OK, "policy");
    std::vector<std::string> keys;
    for (std::uint64_t i = 0; keys.size() < 200; i++) {
        const std::string key = KeyOf(i);
        if (trommel_policy_hash(hasher, key.data(), key.size()) < UINT64_MAX / 1000) {
            keys.push_back(key);
        }
    }
    trommel_policy_free(hasher);
    const std::vector<leveldb::Slice> slices(keys.begin(), keys.end());
    for (const Kind &kind : kKinds) {
        const Policy policy = Ours(kind.name, 20);
        std::string dst = "before";
        policy->CreateFilter(slices.data(), static_cast<int>(slices.size()), &dst);
        Require(dst.compare(0, 6, "before") == 0, std::string(kind.name) + ": bytes before the filter are kept");
        Require(std::strcmp(kind.name, "cuckoo") != 0 || dst.size() == 6, "a cuckoo filter does not hold chosen keys");
        for (const std::string &key : keys) {
            Require(policy->KeyMayMatch(key, dst.substr(6)), std::string(kind.name) + ": every chosen key is found");
        }
    }
    // LevelDB treats the missing filter as a filter that excludes nothing.
    CountingPolicy policy(Ours("cuckoo", 20));
    leveldb::Options options = OptionsWith(&policy);
    options.block_size = 1 << 20;
    const Database db = Open(options, scratch / "chosen");
    for (const std::string &key : keys) {
        Require(db->Put(leveldb::WriteOptions(), key, key), "put");
    }
    db->CompactRange(nullptr, nullptr);
    Require(policy.filters > 0 && policy.bytes_of_filters == 0, "the chosen keys have no filter");
    std::string value;
    for (const std::string &key : keys) {
        Require(db->Get(leveldb::ReadOptions(), key, &value), "get a chosen key");
    }
    Require(policy.maybe >= keys.size(), "KeyMayMatch is called with the missing filter");

    const Policy other = Ours("cuckoo", 20, 1);
    Require(!FilterOf(*other, keys).empty(), "keys fit under a seed for which they were not chosen");
}

// No key is excluded by an empty filter, by a block of another kind, or by bytes that do not end with the code of a
// kind. A lookup never reads past the ends of the bytes that it is given; a build with -fsanitize=address detects such
// reads.
void foreign_bytes_exclude_nothing() {
    const std::string key = KeyOf(7), absent = KeyOf(1'000'007);
    std::mt19937_64 random(1);
    for (const Kind &kind : kKinds) {
        const std::string what = kind.name;
        const Policy policy = Ours(kind.name, kind.bits_per_key);
        Require(policy->KeyMayMatch(key, leveldb::Slice()), what + ": an empty filter excludes no key");
        Require(policy->KeyMayMatch(leveldb::Slice(), leveldb::Slice()), what + ": an empty key is not excluded");
        for (const Kind &other : kKinds) {
            if (std::strcmp(other.name, kind.name) != 0) {
                const std::string block = FilterOf(*Ours(other.name, other.bits_per_key), Keys(0, 100));
                Require(policy->KeyMayMatch(absent, block), what + ": nothing is excluded by a block of " + other.name);
            }
        }
        std::string block = FilterOf(*policy, Keys(0, 100));
        // The last byte of a block has the code of its kind. No kind has the code 0x7f, so bytes that end with 0x7f
        // exclude nothing, whatever their length.
        std::string damaged = block;
        damaged.back() = 0x7f;
        Require(policy->KeyMayMatch(absent, damaged), what + ": a reserved code excludes nothing");
        for (std::size_t len = 0; len < 300; len++) {
            const std::string garbage(len, '\x7f');
            Require(policy->KeyMayMatch(absent, garbage), what + ": garbage excludes nothing");
        }
        // For truncated blocks and random bytes, any answer is right, but the call must return. Each input is in an
        // allocation of its own, so that sanitizers detect reads past its ends.
        for (std::size_t len = 0; len <= block.size(); len++) {
            const std::vector<char> head(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(len));
            const std::vector<char> tail(block.begin() + static_cast<std::ptrdiff_t>(len), block.end());
            policy->KeyMayMatch(key, leveldb::Slice(head.data(), head.size()));
            policy->KeyMayMatch(key, leveldb::Slice(tail.data(), tail.size()));
        }
        for (int round = 0; round < 20'000; round++) {
            std::vector<char> bytes(random() % 400);
            for (char &byte : bytes) {
                byte = static_cast<char>(random());
            }
            policy->KeyMayMatch(key, leveldb::Slice(bytes.data(), bytes.size()));
        }
    }
}

// In a database whose filters have one key each, overwrites the filters in the table files with zeros, except for their
// two-byte trailers. The overwritten filters exclude every key. With paranoid_checks, LevelDB's checksum detects the
// damage, and LevelDB does not use the filters.
void paranoid_checks_guard_damaged_filters(const TemporaryDirectory &scratch) {
    constexpr std::uint64_t n = 2'000;
    const std::string path = scratch / "damaged";
    const Policy policy = Ours("split-block-bloom");
    {
        // Each value is longer than a block of data, so that a block holds one key.
        const Database db = Open(OptionsWith(policy.get()), path);
        for (const std::string &key : Keys(0, n)) {
            Require(db->Put(leveldb::WriteOptions(), key, key + std::string(5'000, 'x')), "put");
        }
        db->CompactRange(nullptr, nullptr);
    }
    int damaged = 0;
    for (const auto &entry : std::filesystem::directory_iterator(path)) {
        if (entry.path().extension() != ".ldb") {
            continue;
        }
        std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
        std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
        for (const std::string &key : Keys(0, n)) {
            const std::string filter = FilterOf(*policy, {key});
            const std::size_t at = bytes.find(filter);
            if (at != std::string::npos) {
                bytes.replace(at, filter.size() - 2, filter.size() - 2, '\0');
                damaged++;
            }
        }
        file.clear();
        file.seekp(0);
        file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
    Require(damaged > 0, "filters are found in the files");

    const auto keys_lost = [&](bool paranoid) {
        leveldb::Options options = OptionsWith(policy.get());
        options.paranoid_checks = paranoid;
        const Database db = Open(options, path);
        std::string value;
        int missing = 0;
        for (const std::string &key : Keys(0, n)) {
            missing += !db->Get(leveldb::ReadOptions(), key, &value).ok();
        }
        return missing;
    };
    Require(keys_lost(false) > 0, "without paranoid_checks the damage hides keys");
    Require(keys_lost(true) == 0, "paranoid_checks guards the filters");
}

void impossible_policies_are_nullptr() {
    for (const Kind &wrong : {Kind{nullptr, 10}, {"no-such-kind", 10}, {"counting-bloom", 10}, {"bloom", 0},
                              {"cuckoo", 2}, {"bloom", 1e300}}) {
        // The message of a failure stays until the next failure. So a different call fails first, and the message of
        // the impossible policy must differ from the message of that call.
        Require(trommel_policy_new("bloom", 10, 0, nullptr) != TROMMEL_OK, "a null pointer to the policy is refused");
        const std::string before = trommel_last_error();
        Require(NewTrommelFilterPolicy(wrong.name, wrong.bits_per_key) == nullptr, "an impossible policy is refused");
        Require(*trommel_last_error() != '\0' && trommel_last_error() != before, "a refusal has a new message");
    }
    Require(std::strcmp(Ours("bloom", 10, 255)->Name(), "trommel.1.bloom.xxh3.00000000000000ff") == 0,
            "the name has the version, the kind, the hash function and the seed");
}

void step(const char *name) {
    std::printf("-- %s\n", name);
    std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv) {
    if (argc == 4 && std::string_view(argv[1]) == kWriterVerb) {
        return WriteUntilKilled(argv[2], std::strtoull(argv[3], nullptr, 10));
    }
    int kills = 20;
    if (argc == 3 && std::string_view(argv[1]) == "--kills") {
        kills = std::atoi(argv[2]);
    }
    if ((argc != 1 && argc != 3) || kills <= 0) {
        std::fprintf(stderr, "usage: test [--kills N]\n");
        return 2;
    }
    const TemporaryDirectory scratch;
    step("impossible policies are nullptr");
    impossible_policies_are_nullptr();
    step("filters are appended and exactly sized");
    filters_are_appended_and_exactly_sized();
    step("keys that do not fit leave no filter");
    keys_that_do_not_fit_leave_no_filter(scratch);
    step("foreign bytes exclude nothing");
    foreign_bytes_exclude_nothing();
    step("versions of a key are added once");
    versions_of_a_key_are_added_once(scratch);
    step("every kind answers right");
    every_kind_answers_right(scratch);
    step("a policy of another name ignores filters");
    a_policy_of_another_name_ignores_filters(scratch);
    step("bits per key may change");
    bits_per_key_may_change(scratch);
    step("paranoid_checks guard damaged filters");
    paranoid_checks_guard_damaged_filters(scratch);
    step("a million keys are found and absent ones excluded");
    a_million_keys_are_found_and_absent_ones_excluded(scratch);
    std::printf("-- writers are killed, %d times\n", kills);
    std::fflush(stdout);
    // Every round reads the keys of all rounds before it, so a new database is begun after 20 rounds.
    for (int done = 0; done < kills; done += 20) {
        KillWriters(scratch / ("killed-" + std::to_string(done)).c_str(), std::min(20, kills - done));
    }
    std::printf("passed\n");
}
