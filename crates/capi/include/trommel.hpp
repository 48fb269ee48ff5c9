// Trommel for C++17: classes around the functions of trommel.h. An object frees the handle that it holds. This header
// is all of the wrapper; link the C library.
//
// Objects are move-only, like std::unique_ptr; a moved-from object may only be destroyed or assigned to. A failed call
// throws trommel::error, with the status and the message of the C function; std::bad_alloc is thrown where the standard
// library throws it. Functions that are noexcept return what the C function returns. So lookups in filter blocks return
// true ("may match") if an argument is refused, or if the last bytes or the length of the block show that it is not a
// block of the policy.
//
// Thread safety is that of the standard library's containers: const member functions of one object may run at the same
// time.
#ifndef TROMMEL_HPP
#define TROMMEL_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "trommel.h"

namespace trommel {

// Thrown if a call fails.
class error : public std::runtime_error {
public:
    error(trommel_status status, const char *message) : std::runtime_error(message), status_(status) {}

    trommel_status status() const noexcept { return status_; }

private:
    trommel_status status_;
};

using bytes = std::vector<std::uint8_t>;

namespace detail {

inline void check(trommel_status status) {
    if (status != TROMMEL_OK) {
        throw error(status, trommel_last_error());
    }
}

struct deleter {
    void operator()(trommel_policy *policy) const noexcept { trommel_policy_free(policy); }
    void operator()(trommel_filter *filter) const noexcept { trommel_free(filter); }
    void operator()(trommel_view *view) const noexcept { trommel_view_free(view); }
};

template <typename T> using handle = std::unique_ptr<T, deleter>;

// Looks a key up in a filter or a view by calling `look`, a function of trommel.h. Throws error.
template <typename Look, typename T> bool contains(Look look, const T *in, std::string_view key) {
    bool found = true;
    check(look(in, key.data(), key.size(), &found));
    return found;
}

// Looks up `n` keys by their hashes in a filter or a view by calling `look`, a function of trommel.h. Throws error.
template <typename Look, typename T>
std::vector<std::uint64_t> contains_hashes(Look look, const T *in, const std::uint64_t *hashes,
                                           std::size_t n) {
    std::vector<std::uint64_t> words(n / 64 + (n % 64 != 0));
    check(look(in, hashes, n, words.data()));
    return words;
}

} // namespace detail

// Builds and probes filter blocks. Immutable, so threads can share it.
class policy {
public:
    // `kind` ends in a NUL, as a literal does. The default of 10 bits per key is too low for "cache-line-quotient".
    // Throws error.
    explicit policy(const char *kind, double bits_per_key = 10.0, std::uint64_t seed = 0) {
        trommel_policy *made = nullptr;
        detail::check(trommel_policy_new(kind, bits_per_key, seed, &made));
        handle_.reset(made);
    }

    // The name to store with the blocks. Valid as long as the policy exists.
    const char *name() const noexcept { return trommel_policy_name(handle_.get()); }

    // The exact size in bytes of a block of `keys` keys; SIZE_MAX if one block cannot hold this number of keys.
    std::size_t size(std::size_t keys) const noexcept {
        return trommel_policy_size(handle_.get(), keys);
    }

    std::uint64_t hash(std::string_view key) const noexcept {
        return trommel_policy_hash(handle_.get(), key.data(), key.size());
    }

    // Returns the block of `n` keys. Throws error.
    bytes build(const std::string_view *keys, std::size_t n) const {
        std::vector<std::uint64_t> hashes(n);
        for (std::size_t i = 0; i < n; i++) {
            hashes[i] = hash(keys[i]);
        }
        return build_hashes(hashes.data(), n);
    }

    bytes build(const std::vector<std::string_view> &keys) const {
        return build(keys.data(), keys.size());
    }

    // Returns the block of `n` keys, from their hashes. Throws error.
    bytes build_hashes(const std::uint64_t *hashes, std::size_t n) const {
        const std::size_t need = size(n);
        bytes block(need == SIZE_MAX ? 0 : need);
        std::size_t written = 0;
        detail::check(trommel_policy_build_hashes(handle_.get(), hashes, n, block.data(),
                                                  block.size(), &written));
        block.resize(written);
        return block;
    }

    // Writes the block to memory of the caller and returns its length. Throws error.
    std::size_t build_hashes(const std::uint64_t *hashes, std::size_t n, void *dst,
                             std::size_t capacity) const {
        std::size_t written = 0;
        detail::check(
            trommel_policy_build_hashes(handle_.get(), hashes, n, dst, capacity, &written));
        return written;
    }

    // Returns false if the key is certainly not among the keys of the block.
    bool may_match(std::string_view key, const void *block, std::size_t len) const noexcept {
        return trommel_policy_may_match(handle_.get(), key.data(), key.size(), block, len);
    }

    bool may_match(std::string_view key, const bytes &block) const noexcept {
        return may_match(key, block.data(), block.size());
    }

    bool may_match_hash(std::uint64_t hash, const void *block, std::size_t len) const noexcept {
        return trommel_policy_may_match_hash(handle_.get(), hash, block, len);
    }

    // Throws error if the block is empty, or if no policy of this name can have built it.
    void verify(const void *block, std::size_t len) const {
        detail::check(trommel_policy_verify(handle_.get(), block, len));
    }

    const trommel_policy *get() const noexcept { return handle_.get(); }

private:
    detail::handle<trommel_policy> handle_;
};

// A filter that keys can be inserted into.
class filter {
public:
    // `kind` ends in a NUL, as a literal does. Throws error.
    filter(const char *kind, std::uint64_t keys, double fpr, std::uint64_t seed = 0) {
        trommel_filter *made = nullptr;
        detail::check(trommel_new(kind, keys, fpr, seed, &made));
        handle_.reset(made);
    }

    // Makes a filter from the bytes of a frozen one, which are copied. Throws error.
    static filter thaw(const void *frozen, std::size_t len) {
        trommel_filter *made = nullptr;
        detail::check(trommel_thaw(frozen, len, &made));
        return filter(made);
    }

    std::uint64_t hash(std::string_view key) const noexcept {
        return trommel_hash_bytes(handle_.get(), key.data(), key.size());
    }

    // Throws error, for example if the filter has no room.
    void insert(std::string_view key) {
        detail::check(trommel_insert_bytes(handle_.get(), key.data(), key.size()));
    }

    // Inserts `n` keys by their hashes. Throws error if the filter has no room for all; the keys that were inserted
    // stay.
    void insert_hashes(const std::uint64_t *hashes, std::size_t n) {
        detail::check(trommel_insert_hashes(handle_.get(), hashes, n, nullptr));
    }

    // Returns false if the key is certainly not in the filter. Throws error.
    bool contains(std::string_view key) const {
        return detail::contains(trommel_contains_bytes, get(), key);
    }

    // Returns one bit per hash, in words of 64 bits, least significant bit first. Throws error.
    std::vector<std::uint64_t> contains_hashes(const std::uint64_t *hashes, std::size_t n) const {
        return detail::contains_hashes(trommel_contains_hashes, get(), hashes, n);
    }

    // Removes one copy of a key; returns false if the key certainly was not in the filter. Remove only keys that were
    // inserted; see trommel_remove_bytes. Throws error if the kind cannot remove keys.
    bool remove(std::string_view key) {
        bool removed = false;
        detail::check(trommel_remove_bytes(handle_.get(), key.data(), key.size(), &removed));
        return removed;
    }

    // Inserts all keys of another filter, of the same kind, size and seed; see trommel_merge. Throws error.
    void merge(const filter &other) { detail::check(trommel_merge(handle_.get(), other.get())); }

    std::uint64_t len() const noexcept { return trommel_len(handle_.get()); }

    // Returns the frozen filter. Throws error.
    bytes freeze() const {
        bytes frozen(trommel_frozen_size(handle_.get()));
        std::size_t written = 0;
        detail::check(trommel_freeze(handle_.get(), frozen.data(), frozen.size(), &written));
        frozen.resize(written);
        return frozen;
    }

    trommel_filter *get() noexcept { return handle_.get(); }
    const trommel_filter *get() const noexcept { return handle_.get(); }

private:
    explicit filter(trommel_filter *made) noexcept : handle_(made) {}

    detail::handle<trommel_filter> handle_;
};

// A view of a frozen filter. It reads the filter's table in place. The bytes must stay where they are, unchanged, as
// long as the view exists.
class view {
public:
    // Checks checksums, parameters and structure; later calls do not check them again. Throws error.
    view(const void *frozen, std::size_t len) {
        trommel_view *made = nullptr;
        detail::check(trommel_view_open(frozen, len, &made));
        handle_.reset(made);
    }

    explicit view(const bytes &frozen) : view(frozen.data(), frozen.size()) {}
    // This overload is deleted, since temporary bytes would not outlive the view.
    explicit view(bytes &&frozen) = delete;

    std::uint64_t hash(std::string_view key) const noexcept {
        return trommel_view_hash_bytes(handle_.get(), key.data(), key.size());
    }

    // Returns false if the key is certainly not in the filter. Throws error.
    bool contains(std::string_view key) const {
        return detail::contains(trommel_view_contains_bytes, get(), key);
    }

    // Returns one bit per hash, in words of 64 bits, least significant bit first. Throws error.
    std::vector<std::uint64_t> contains_hashes(const std::uint64_t *hashes, std::size_t n) const {
        return detail::contains_hashes(trommel_view_contains_hashes, get(), hashes, n);
    }

    const trommel_view *get() const noexcept { return handle_.get(); }

private:
    detail::handle<trommel_view> handle_;
};

} // namespace trommel

#endif // TROMMEL_HPP
