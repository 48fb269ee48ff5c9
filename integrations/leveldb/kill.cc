#include "kill.h"

#include <csignal>
#include <poll.h>
#include <random>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "leveldb/write_batch.h"
#include "support.h"

extern char **environ;

namespace {

constexpr std::uint64_t kKeysPerBatch = 200;

// Makes tables small, so that a writer builds filters all the time.
leveldb::Options SmallTables(const leveldb::FilterPolicy *policy) {
    leveldb::Options options = OptionsWith(policy);
    options.write_buffer_size = 64 << 10;
    options.max_file_size = 1 << 20;
    return options;
}

void SleepMicroseconds(long us) {
    const timespec time{us / 1'000'000, us % 1'000'000 * 1000};
    nanosleep(&time, nullptr);
}

// Starts a writer, sends it SIGKILL `delay_us` microseconds after its first acknowledgement, and returns the number of
// the first batch that the writer did not acknowledge.
std::uint64_t KillOne(const std::string &path, std::uint64_t first_batch, long delay_us) {
    int pipe_ends[2];
    Require(pipe(pipe_ends) == 0, "pipe");
    std::string verb = kWriterVerb, database = path, first = std::to_string(first_batch);
    // Spawned, not forked: LevelDB's background thread might be running in this process. After a fork, the locks that
    // the background thread holds would stay locked in the new process. A spawned process has its own locks.
    char program[] = "/proc/self/exe";
    char *arguments[] = {program, verb.data(), database.data(), first.data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, pipe_ends[0]);
    posix_spawn_file_actions_addclose(&actions, pipe_ends[1]);
    pid_t writer = 0;
    Require(posix_spawn(&writer, program, &actions, nullptr, arguments, environ) == 0, "spawn");
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);

    // The delay begins with the first acknowledgement: until then the writer also opens the database, and from then on
    // it only writes.
    pollfd readable{pipe_ends[0], POLLIN, 0};
    Require(poll(&readable, 1, 60'000) == 1, "a writer acknowledges a batch within a minute");
    SleepMicroseconds(delay_us);
    kill(writer, SIGKILL);
    int status = 0;
    Require(waitpid(writer, &status, 0) == writer, "waitpid");
    Require(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the writer runs until it is killed");

    // The number of a batch has 8 bytes, fewer than PIPE_BUF, so the pipe holds the number whole or not at all.
    std::uint64_t acknowledged = first_batch, batch = 0;
    while (read(pipe_ends[0], &batch, sizeof batch) == static_cast<ssize_t>(sizeof batch)) {
        Require(batch == acknowledged, "batches are acknowledged in order");
        acknowledged++;
    }
    close(pipe_ends[0]);
    return acknowledged;
}

bool Holds(leveldb::DB &db, std::uint64_t number) {
    std::string value;
    const leveldb::Status status = db.Get(leveldb::ReadOptions(), KeyOf(number), &value);
    Require(status.ok() || status.IsNotFound(), "get: " + status.ToString());
    Require(status.IsNotFound() || value.compare(0, 16, KeyOf(number)) == 0, "a key has its value");
    return status.ok();
}

} // namespace

int WriteUntilKilled(const std::string &path, std::uint64_t first_batch) {
    const Policy policy = Ours("split-block-bloom");
    const Database db = Open(SmallTables(policy.get()), path);
    leveldb::WriteOptions sync;
    sync.sync = true;
    for (std::uint64_t batch = first_batch;; batch++) {
        leveldb::WriteBatch keys;
        for (std::uint64_t i = batch * kKeysPerBatch; i < (batch + 1) * kKeysPerBatch; i++) {
            keys.Put(KeyOf(i), KeyOf(i) + std::string(84, 'v'));
        }
        if (!db->Write(sync, &keys).ok() ||
            write(STDOUT_FILENO, &batch, sizeof batch) != static_cast<ssize_t>(sizeof batch)) {
            return 1;
        }
    }
}

void KillWriters(const std::string &path, int kills) {
    std::mt19937_64 random(2);
    CountingPolicy policy(Ours("split-block-bloom"));
    std::uint64_t batches = 0;
    int unacknowledged = 0;
    for (int round = 0; round < kills; round++) {
        const std::uint64_t acknowledged =
            KillOne(path, batches, static_cast<long>(random() % 100'000));
        const Database db = Open(SmallTables(&policy), path);
        for (std::uint64_t number = 0; number < acknowledged * kKeysPerBatch; number++) {
            Require(Holds(*db, number), "round " + std::to_string(round) + ": acknowledged key " +
                                            std::to_string(number) + " is held");
        }
        // The batch after the acknowledged ones is there whole or not at all, and no later batch is there.
        std::uint64_t more = 0;
        for (std::uint64_t i = 0; i < 2 * kKeysPerBatch; i++) {
            more += Holds(*db, acknowledged * kKeysPerBatch + i);
        }
        Require(more == 0 || more == kKeysPerBatch, "a batch is there whole or not at all");
        batches = acknowledged + more / kKeysPerBatch;
        unacknowledged += more != 0;
    }
    Require(kills < 20 || (policy.maybe > 0 && policy.excluded > 0), "lookups after a kill go through filters");
    std::printf("   %d writers killed; %llu keys held; %d batches were written and not acknowledged\n", kills,
                static_cast<unsigned long long>(batches * kKeysPerBatch), unacknowledged);
}
