// Trommel's filters in LevelDB: a leveldb::FilterPolicy on filter blocks. README.md beside this file has the figures.
#ifndef TROMMEL_LEVELDB_H
#define TROMMEL_LEVELDB_H

#include <cstdint>

#include "leveldb/filter_policy.h"

// Returns a policy for leveldb::Options::filter_policy. The caller deletes it after every database that uses it.
//
// `kind` is "bloom", "register-bloom", "split-block-bloom", "cache-line-bloom", "quotient", "cache-line-quotient" or
// "cuckoo". trommel.h has the least bits per key of each. Keys are hashed with `seed`.
//
// Kind and seed are in the name of the policy, which LevelDB stores in each table. Filters that were written under
// another name are ignored: the database answers right, and reads more. Bits per key may change: old filters stay in
// use.
//
// Returns nullptr if there is no such policy; trommel_last_error() has the reason. Options with nullptr write no
// filters.
//
// Thread safety: any thread, any time. A policy is immutable, so threads and databases share one.
const leveldb::FilterPolicy *NewTrommelFilterPolicy(const char *kind = "split-block-bloom",
                                                    double bits_per_key = 10.0,
                                                    std::uint64_t seed = 0);

#endif // TROMMEL_LEVELDB_H
