// A library for LD_PRELOAD that makes calls on files fail. It counts calls of the functions at the end of this file.
//
// FAIL_AT=N        the N-th counted call of the process fails; the first call has the number 1
// FAIL_ALSO_LATER  if set, all counted calls after the N-th fail too
// FAIL_WITH=E      the value of errno that failing calls set
// FAIL_ONLY_INTERRUPTIBLE  if set, only calls that a signal can interrupt are counted
// FAIL_LOG=PATH    the file to which the name of the first function that fails is written
//
// Calls on standard error are not counted and never fail, so that a test can check the program's error messages.
//
// fcntl.h declares `open` with a variable number of arguments, but this file defines `open` with three. So it must not
// include fcntl.h, nor sys/file.h, which includes fcntl.h. Callers that pass variable arguments can still call this
// `open`: on the machines where this library runs, variable arguments are passed like fixed ones.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

int flock(int fd, int operation);

static long fail_at, calls;
static int fail_with, fails_later, only_interruptible;
static const char *log_path;

__attribute__((constructor)) static void read_environment(void) {
    const char *at = getenv("FAIL_AT"), *with = getenv("FAIL_WITH");
    fail_at = at ? atol(at) : 0;
    fail_with = with ? atoi(with) : EIO;
    fails_later = getenv("FAIL_ALSO_LATER") != NULL;
    only_interruptible = getenv("FAIL_ONLY_INTERRUPTIBLE") != NULL;
    log_path = getenv("FAIL_LOG");
    // Ends a process that hangs.
    alarm(60);
}

static int fails(const char *name, int interruptible, int fd) {
    if (fail_at == 0 || fd == STDERR_FILENO || (only_interruptible && !interruptible)) {
        return 0;
    }
    long call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    if (call < fail_at || (call > fail_at && !fails_later)) {
        return 0;
    }
    if (call == fail_at && log_path) {
        FILE *log = fopen(log_path, "w");
        if (log) {
            fputs(name, log);
            fclose(log);
        }
    }
    errno = fail_with;
    return 1;
}

#define FAILING(result, failure, name, interruptible, fd, parameters, arguments)                                       \
    result name parameters {                                                                                           \
        static result(*next) parameters;                                                                               \
        if (fails(#name, interruptible, fd)) {                                                                         \
            return failure;                                                                                            \
        }                                                                                                              \
        if (!next) {                                                                                                   \
            next = (result(*) parameters)dlsym(RTLD_NEXT, #name);                                                      \
        }                                                                                                              \
        return next arguments;                                                                                         \
    }

FAILING(int, -1, open, 1, -1, (const char *path, int flags, unsigned mode), (path, flags, mode))
FAILING(int, -1, open64, 1, -1, (const char *path, int flags, unsigned mode), (path, flags, mode))
FAILING(ssize_t, -1, read, 1, fd, (int fd, void *bytes, size_t len), (fd, bytes, len))
FAILING(ssize_t, -1, readv, 1, fd, (int fd, const struct iovec *parts, int count), (fd, parts, count))
FAILING(ssize_t, -1, write, 1, fd, (int fd, const void *bytes, size_t len), (fd, bytes, len))
FAILING(ssize_t, -1, writev, 1, fd, (int fd, const struct iovec *parts, int count), (fd, parts, count))
FAILING(int, -1, fsync, 1, fd, (int fd), (fd))
FAILING(off64_t, -1, lseek64, 0, fd, (int fd, off64_t offset, int whence), (fd, offset, whence))
FAILING(int, -1, fstat64, 0, fd, (int fd, struct stat64 *found), (fd, found))
FAILING(int, -1, stat64, 0, -1, (const char *path, struct stat64 *found), (path, found))
FAILING(int, -1, statx, 0, -1, (int folder, const char *path, int flags, unsigned mask, struct statx *found),
        (folder, path, flags, mask, found))
FAILING(int, -1, fchmod, 0, fd, (int fd, mode_t mode), (fd, mode))
FAILING(int, -1, flock, 0, fd, (int fd, int operation), (fd, operation))
FAILING(int, -1, rename, 0, -1, (const char *from, const char *to), (from, to))
FAILING(char *, NULL, realpath, 0, -1, (const char *path, char *resolved), (path, resolved))
FAILING(DIR *, NULL, opendir, 0, -1, (const char *path), (path))
FAILING(struct dirent64 *, NULL, readdir64, 0, -1, (DIR *folder), (folder))
