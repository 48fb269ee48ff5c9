// Writers that are killed in the middle of a write, as a part of the test.
#ifndef TROMMEL_LEVELDB_KILL_H
#define TROMMEL_LEVELDB_KILL_H

#include <cstdint>
#include <string>

// The first argument of the program that makes it a writer; the database and the first batch follow.
inline constexpr char kWriterVerb[] = "--write-until-killed";

// Writes batches of keys with sync, and the number of each batch to the standard output once it is acknowledged. Ends
// only if a write fails.
int WriteUntilKilled(const std::string &path, std::uint64_t first_batch);

// Starts this program as a writer and kills it by SIGKILL, `kills` times on one database. After each, the database
// opens and holds every batch that was acknowledged, whole, and besides at most the one after them.
void KillWriters(const std::string &path, int kills);

#endif // TROMMEL_LEVELDB_KILL_H
