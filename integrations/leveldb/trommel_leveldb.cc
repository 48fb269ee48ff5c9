// The policy uses trommel.h alone and not trommel.hpp, which throws: LevelDB's own build files turn exceptions and
// run-time type information off, and a class that derives from a class of LevelDB has to be built with the same
// settings.
#include "trommel_leveldb.h"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "leveldb/slice.h"
#include "trommel.h"

namespace {

// A filter of LevelDB has the keys of all data blocks that begin in the same 2 KB of a table. Usually only one block
// does, with some 20 to 40 keys, so the hashes of the keys usually fit on the stack.
constexpr std::size_t kHashesOnStack = 256;

class TrommelFilterPolicy final : public leveldb::FilterPolicy {
public:
    explicit TrommelFilterPolicy(trommel_policy *policy) : policy_(policy) {}
    ~TrommelFilterPolicy() override { trommel_policy_free(policy_); }
    TrommelFilterPolicy(const TrommelFilterPolicy &) = delete;
    TrommelFilterPolicy &operator=(const TrommelFilterPolicy &) = delete;

    const char *Name() const override { return trommel_policy_name(policy_); }

    // Appends nothing if the filter cannot be built, for example if the keys of a cuckoo filter were chosen to collide
    // under the policy's seed. LevelDB then calls KeyMayMatch with an empty filter, which excludes no key.
    void CreateFilter(const leveldb::Slice *keys, int n, std::string *dst) const override {
        const std::size_t count = n > 0 ? static_cast<std::size_t>(n) : 0;
        if (count <= kHashesOnStack) {
            std::array<std::uint64_t, kHashesOnStack> hashes;
            Append(hashes.data(), Hash(keys, count, hashes.data()), dst);
        } else {
            std::vector<std::uint64_t> hashes(count);
            Append(hashes.data(), Hash(keys, count, hashes.data()), dst);
        }
    }

    bool KeyMayMatch(const leveldb::Slice &key, const leveldb::Slice &filter) const override {
        return trommel_policy_may_match(policy_, key.data(), key.size(), filter.data(), filter.size());
    }

private:
    // Writes the hashes of `n` keys to `hashes`, skips consecutive repetitions, and returns the number of hashes
    // written. If snapshots keep several versions of a key, the key comes once for each version; adding it each time
    // would make the filter larger.
    std::size_t Hash(const leveldb::Slice *keys, std::size_t n, std::uint64_t *hashes) const {
        std::size_t distinct = 0;
        for (std::size_t i = 0; i < n; i++) {
            const std::uint64_t hash = trommel_policy_hash(policy_, keys[i].data(), keys[i].size());
            if (distinct == 0 || hash != hashes[distinct - 1]) {
                hashes[distinct++] = hash;
            }
        }
        return distinct;
    }

    void Append(const std::uint64_t *hashes, std::size_t n, std::string *dst) const {
        const std::size_t start = dst->size();
        const std::size_t room = trommel_policy_size(policy_, n);
        if (room > dst->max_size() - start) {
            return;
        }
        dst->resize(start + room);
        std::size_t written = 0;
        const trommel_status status =
            trommel_policy_build_hashes(policy_, hashes, n, &(*dst)[start], room, &written);
        dst->resize(status == TROMMEL_OK ? start + written : start);
    }

    trommel_policy *const policy_;
};

} // namespace

const leveldb::FilterPolicy *NewTrommelFilterPolicy(const char *kind, double bits_per_key,
                                                    std::uint64_t seed) {
    trommel_policy *policy = nullptr;
    if (trommel_policy_new(kind, bits_per_key, seed, &policy) != TROMMEL_OK) {
        return nullptr;
    }
    return new TrommelFilterPolicy(policy);
}
