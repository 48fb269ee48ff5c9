/* The three layers: filter blocks of a small storage engine, a filter that keys are inserted into, and a view of that
   filter's frozen bytes.

   Prints the results. Exits with 1 if a call fails, or if a result is not as expected. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trommel.h"

#define KEYS 18
#define MANY 1000

static void check(trommel_status status, const char *what) {
    if (status != TROMMEL_OK) {
        fprintf(stderr, "%s: status %d: %s\n", what, (int)status, trommel_last_error());
        exit(1);
    }
}

static void require(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

static void *allocate(size_t bytes) {
    void *memory = malloc(bytes > 0 ? bytes : 1);
    require(memory != NULL, "out of memory");
    return memory;
}

/* An engine builds and stores a filter block for each block of data. Before it reads a block of data, it probes the
   filter block. */
static void filter_blocks(void) {
    trommel_policy *policy;
    char names[KEYS][16];
    trommel_slice keys[KEYS];
    size_t size, written;
    int i, absent = 0;
    void *block;

    check(trommel_policy_new("bloom", 10.0, 42, &policy), "policy");
    for (i = 0; i < KEYS; i++) {
        keys[i].len = (size_t)snprintf(names[i], sizeof names[i], "user%06d", i);
        keys[i].data = (const uint8_t *)names[i];
    }
    size = trommel_policy_size(policy, KEYS);
    block = allocate(size);
    check(trommel_policy_build(policy, keys, KEYS, block, size, &written), "block");
    require(written == size, "the size is not exact");

    for (i = 0; i < KEYS; i++) {
        bool may = trommel_policy_may_match(policy, keys[i].data, keys[i].len, block, size);
        require(may, "a key of the block is not found");
    }
    for (i = 0; i < MANY; i++) {
        char name[16];
        size_t len = (size_t)snprintf(name, sizeof name, "none%06d", i);
        absent += !trommel_policy_may_match(policy, name, len, block, size);
    }
    require(absent > MANY * 9 / 10, "the block excludes too few absent keys");
    check(trommel_policy_verify(policy, block, size), "verify");
    printf("%s: %d keys in %zu bytes, %d of %d absent keys excluded\n", trommel_policy_name(policy),
           KEYS, size, absent, MANY);
    free(block);
    trommel_policy_free(policy);
}

/* Hashes many keys once, inserts them and looks them up in batches, freezes the filter, and reads it in place. */
static void filter_and_view(void) {
    trommel_filter *filter;
    trommel_view *view;
    uint64_t hashes[MANY], found[(MANY + 63) / 64];
    size_t size, written, inserted;
    void *frozen;
    bool is_there;
    int i;

    check(trommel_new("split-block-bloom", MANY, 0.01, 42, &filter), "filter");
    for (i = 0; i < MANY; i++) {
        uint32_t order = (uint32_t)i * 7;
        hashes[i] = trommel_hash_bytes(filter, &order, sizeof order);
    }
    check(trommel_insert_hashes(filter, hashes, MANY, &inserted), "insert");
    require(inserted == MANY, "not all keys were inserted");
    check(trommel_insert_bytes(filter, "anvil", 5), "insert one");
    check(trommel_contains_hashes(filter, hashes, MANY, found), "look up");
    for (i = 0; i < MANY; i++) {
        require(found[i / 64] >> (i % 64) & 1, "a key is not found");
    }

    size = trommel_frozen_size(filter);
    frozen = allocate(size);
    check(trommel_freeze(filter, frozen, size, &written), "freeze");
    require(written == size, "the frozen size is not exact");
    trommel_free(filter);

    check(trommel_view_open(frozen, size, &view), "view");
    check(trommel_view_contains_bytes(view, "anvil", 5, &is_there), "look up in the view");
    require(is_there, "a key is not in the view");
    memset(found, 0, sizeof found);
    check(trommel_view_contains_hashes(view, hashes, MANY, found), "look up in the view");
    for (i = 0; i < MANY; i++) {
        require(found[i / 64] >> (i % 64) & 1, "a key is not in the view");
    }
    trommel_view_free(view);

    /* Damaged bytes are refused. */
    ((unsigned char *)frozen)[size / 2] ^= 1;
    require(trommel_view_open(frozen, size, &view) == TROMMEL_FORMAT, "damaged bytes were not refused");
    require(view == NULL, "a view of damaged bytes was made");
    printf("split-block-bloom: %d keys in %zu bytes; damaged: %s\n", MANY + 1, size,
           trommel_last_error());
    free(frozen);
}

int main(void) {
    require(trommel_abi_version() == TROMMEL_ABI_VERSION, "the library and the header differ in version");
    filter_blocks();
    filter_and_view();
    return 0;
}
