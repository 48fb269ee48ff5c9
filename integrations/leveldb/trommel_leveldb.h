// A leveldb::FilterPolicy that stores Trommel's filter blocks. README.md beside this file has the figures.
#ifndef TROMMEL_LEVELDB_H
#define TROMMEL_LEVELDB_H

#include <cstdint>

#include "leveldb/filter_policy.h"

// Returns a policy for leveldb::Options::filter_policy. Delete every leveldb::DB before the policy that it uses.
//
// `kind` is "bloom", "register-bloom", "split-block-bloom", "cache-line-bloom", "quotient", "cache-line-quotient" or
// "cuckoo". trommel.h states the fewest bits per key that each kind takes. Keys are hashed with `seed`.
//
// The policy's name, which LevelDB stores in each table, contains kind and seed. LevelDB ignores filters that were
// written under another name: the database answers right, but reads more data. Bits per key are not in the name, so old
// filters stay in use when the bits per key change.
//
// Returns nullptr if the policy cannot be made; trommel_last_error() has the reason. LevelDB writes no filters if
// `filter_policy` is nullptr.
//
// Thread safety: a policy is immutable, so any number of threads and databases may use it at the same time.
const leveldb::FilterPolicy *NewTrommelFilterPolicy(const char *kind = "split-block-bloom",
                                                    double bits_per_key = 10.0,
                                                    std::uint64_t seed = 0);

#endif // TROMMEL_LEVELDB_H
