// The part of the test that kills writers in the middle of a write.
#ifndef TROMMEL_LEVELDB_KILL_H
#define TROMMEL_LEVELDB_KILL_H

#include <cstdint>
#include <string>

// The program runs as a writer if its first argument is this word. The path of the database and the number of the first
// batch are the second and the third argument.
inline constexpr char kWriterVerb[] = "--write-until-killed";

// Writes batches of keys with sync. After each batch, acknowledges it by writing its number to the standard output.
// Returns only if a write fails.
int WriteUntilKilled(const std::string &path, std::uint64_t first_batch);

// Starts this program as a writer and kills it with SIGKILL, `kills` times on one database. Requires after each kill
// that the database opens, and that it holds every acknowledged batch and at most one more batch. Every batch must be
// whole.
void KillWriters(const std::string &path, int kills);

#endif // TROMMEL_LEVELDB_KILL_H
