#define _GNU_SOURCE
#include "CCofferSystem.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int result(int value) { return value == -1 ? -errno : value; }

int coffer_punch_hole(int descriptor, off_t offset, off_t length) {
    return result(fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length));
}

int coffer_preallocate(int descriptor, off_t offset, off_t length) {
    return result(fallocate(descriptor, FALLOC_FL_KEEP_SIZE, offset, length));
}

int coffer_start_writeback(int descriptor, off_t offset, off_t length) {
    return result(sync_file_range(descriptor, offset, length, SYNC_FILE_RANGE_WRITE));
}

int coffer_open_at(int directory, const char *path, int flags, mode_t mode) {
    return result(openat(directory, path, flags, mode));
}

int coffer_forbid_core_dumps(void) {
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) == -1) return -errno;
    return result(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}

static int64_t nanoseconds(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) == -1) return -errno;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t coffer_boot_time_ns(void) { return nanoseconds(CLOCK_BOOTTIME); }
int64_t coffer_real_time_ns(void) { return nanoseconds(CLOCK_REALTIME); }
int64_t coffer_monotonic_time_ns(void) { return nanoseconds(CLOCK_MONOTONIC); }

const int coffer_O_DIRECT = O_DIRECT;
const int coffer_O_PATH = O_PATH;

static int set_flag(int descriptor, int get, int set, int flag, int on) {
    int flags = fcntl(descriptor, get);
    if (flags == -1) return -errno;
    return result(fcntl(descriptor, set, on ? flags | flag : flags & ~flag));
}

int coffer_set_nonblocking(int descriptor, int nonblocking) {
    return set_flag(descriptor, F_GETFL, F_SETFL, O_NONBLOCK, nonblocking);
}

int coffer_set_close_on_exec(int descriptor, int close) {
    return set_flag(descriptor, F_GETFD, F_SETFD, FD_CLOEXEC, close);
}

int64_t coffer_peer_user(int socket) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == -1) return -errno;
    return peer.uid;
}

void coffer_advise_huge_pages(void *start, size_t length) { madvise(start, length, MADV_HUGEPAGE); }

void coffer_advise_private(void *start, size_t length) {
    madvise(start, length, MADV_DONTDUMP);
    madvise(start, length, MADV_WIPEONFORK);
}

int coffer_terminal_columns(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == -1 ? 0 : size.ws_col;
}

void coffer_name_thread(unsigned long thread, const char *name) { pthread_setname_np(thread, name); }
