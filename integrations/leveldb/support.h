// Code that the test and the benchmark share: keys, a temporary directory, and a policy that counts.
#ifndef TROMMEL_LEVELDB_SUPPORT_H
#define TROMMEL_LEVELDB_SUPPORT_H

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "leveldb/db.h"
#include "leveldb/filter_policy.h"
#include "trommel.h"
#include "trommel_leveldb.h"

// Ends the program with exit code 1 and a message. `what` is the claim that does not hold, or the call that failed.
[[noreturn]] inline void Fail(std::string_view what) {
    std::fprintf(stderr, "FAILED: %s\n", std::string(what).c_str());
    std::exit(1);
}

inline void Require(bool holds, std::string_view what) {
    if (!holds) {
        Fail(what);
    }
}

inline void Require(const leveldb::Status &status, std::string_view what) {
    if (!status.ok()) {
        Fail(std::string(what) + ": " + status.ToString());
    }
}

// SplitMix64. It is a bijection, so KeyOf gives different numbers different keys.
inline std::uint64_t Mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

// Returns the key of a number: 16 hexadecimal digits. The keys of consecutive numbers are spread over the whole range
// of keys. So absent keys fall into the key ranges of a database's tables, and lookups of absent keys ask the tables'
// filters.
inline std::string KeyOf(std::uint64_t number) {
    static const char digits[] = "0123456789abcdef";
    std::uint64_t mixed = Mix(number);
    std::string key(16, '0');
    for (int i = 15; i >= 0; i--, mixed >>= 4) {
        key[static_cast<std::size_t>(i)] = digits[mixed & 15];
    }
    return key;
}

using Policy = std::unique_ptr<const leveldb::FilterPolicy>;
using Database = std::unique_ptr<leveldb::DB>;

inline Policy Ours(const char *kind, double bits_per_key = 10.0, std::uint64_t seed = 0) {
    Policy policy(NewTrommelFilterPolicy(kind, bits_per_key, seed));
    if (!policy) {
        Fail(std::string(kind) + ": " + trommel_last_error());
    }
    return policy;
}

// A directory that the destructor removes.
class TemporaryDirectory {
public:
    TemporaryDirectory() {
        std::string name = std::filesystem::temp_directory_path() / "trommel-leveldb-XXXXXX";
        Require(mkdtemp(name.data()) != nullptr, "mkdtemp " + name);
        path_ = name;
    }
    ~TemporaryDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryDirectory(const TemporaryDirectory &) = delete;
    TemporaryDirectory &operator=(const TemporaryDirectory &) = delete;

    std::string operator/(const char *name) const { return path_ / name; }

private:
    std::filesystem::path path_;
};

// Wraps an inner policy: has the same name and forwards every call. Counts the filters, their keys and bytes, and the
// answers of lookups.
class CountingPolicy final : public leveldb::FilterPolicy {
public:
    explicit CountingPolicy(Policy inner) : inner_(std::move(inner)) {}

    const char *Name() const override { return inner_->Name(); }

    void CreateFilter(const leveldb::Slice *keys, int n, std::string *dst) const override {
        const std::size_t start = dst->size();
        inner_->CreateFilter(keys, n, dst);
        filters++;
        keys_in_filters += static_cast<std::uint64_t>(n);
        bytes_of_filters += dst->size() - start;
    }

    bool KeyMayMatch(const leveldb::Slice &key, const leveldb::Slice &filter) const override {
        const bool may_match = inner_->KeyMayMatch(key, filter);
        (may_match ? maybe : excluded)++;
        return may_match;
    }

    void Reset() { filters = keys_in_filters = bytes_of_filters = maybe = excluded = 0; }
    // The number of lookups.
    std::uint64_t Asked() const { return maybe + excluded; }

    // Atomic, because LevelDB's background thread counts too.
    mutable std::atomic<std::uint64_t> filters{0}, keys_in_filters{0}, bytes_of_filters{0}, maybe{0}, excluded{0};

private:
    const Policy inner_;
};

inline leveldb::Options OptionsWith(const leveldb::FilterPolicy *policy) {
    leveldb::Options options;
    options.create_if_missing = true;
    options.filter_policy = policy;
    return options;
}

inline Database Open(const leveldb::Options &options, const std::string &path) {
    leveldb::DB *db = nullptr;
    Require(leveldb::DB::Open(options, path, &db), "open " + path);
    return Database(db);
}

#endif // TROMMEL_LEVELDB_SUPPORT_H
