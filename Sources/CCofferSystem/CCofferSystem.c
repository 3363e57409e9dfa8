#define _GNU_SOURCE
#include "CCofferSystem.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <syslog.h>
#include <termios.h>
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

int coffer_rename_exclusively(int from, const char *old_name, int to, const char *new_name) {
    return result(renameat2(from, old_name, to, new_name, RENAME_NOREPLACE));
}

int64_t coffer_file_system_type(int descriptor) {
    struct statfs status;
    return fstatfs(descriptor, &status) == -1 ? -errno : (int64_t)(uint32_t)status.f_type;
}

int coffer_open_event(void) { return result(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

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

// The clock differs among kernels: CLOCK_REALTIME_COARSE up to 6.12; from 6.13 on, the kernel stamps a file
// whose times were queried with the fine clock, and gives no earlier stamp after that. So this function
// stamps a file in memory.
int64_t coffer_file_time_ns(void) {
    static atomic_int stamped = -1;
    int descriptor = atomic_load(&stamped);
    if (descriptor == -1) {
        int made = memfd_create("clock", MFD_CLOEXEC);
        if (made >= 0 && !atomic_compare_exchange_strong(&stamped, &descriptor, made)) {
            close(made);
        } else {
            descriptor = made;
        }
    }
    struct stat status;
    if (descriptor < 0 || futimens(descriptor, NULL) == -1 || fstat(descriptor, &status) == -1)
        return nanoseconds(CLOCK_REALTIME_COARSE);
    return (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
}

int64_t coffer_monotonic_time_ns(void) { return nanoseconds(CLOCK_MONOTONIC); }

const int coffer_O_DIRECT = O_DIRECT;

static int set_flag(int descriptor, int get, int set, int flag, int on) {
    int flags = fcntl(descriptor, get);
    if (flags == -1) return -errno;
    return result(fcntl(descriptor, set, on ? flags | flag : flags & ~flag));
}

int coffer_set_nonblocking(int descriptor, int nonblocking) {
    return set_flag(descriptor, F_GETFL, F_SETFL, O_NONBLOCK, nonblocking);
}

int coffer_set_direct(int descriptor, int direct) {
    return set_flag(descriptor, F_GETFL, F_SETFL, O_DIRECT, direct);
}

int64_t coffer_peer_user(int socket) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == -1) return -errno;
    return peer.uid;
}

void *coffer_map_huge_pages(size_t length) {
    const size_t huge = 2 << 20;
    char *map = mmap(NULL, length + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return NULL;
    char *start = (char *)(((uintptr_t)map + huge - 1) & ~(uintptr_t)(huge - 1));
    if (start > map) munmap(map, (size_t)(start - map));
    munmap(start + length, (size_t)(map + huge - start));
    // A hint. An end that does not fill a huge page would otherwise take up a whole one.
    madvise(start, length & ~(huge - 1), MADV_HUGEPAGE);
    return start;
}

void coffer_advise_private(void *start, size_t length) {
    madvise(start, length, MADV_DONTDUMP);
    madvise(start, length, MADV_WIPEONFORK);
}

int coffer_terminal_columns(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == -1 ? 0 : size.ws_col;
}

void coffer_name_thread(unsigned long thread, const char *name) { pthread_setname_np(thread, name); }

int coffer_set_immutable(int descriptor, int immutable) {
    int flags = 0;
    if (ioctl(descriptor, FS_IOC_GETFLAGS, &flags) == -1) return -errno;
    flags = immutable ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
    return result(ioctl(descriptor, FS_IOC_SETFLAGS, &flags));
}

int coffer_is_immutable(int descriptor) {
    int flags = 0;
    if (ioctl(descriptor, FS_IOC_GETFLAGS, &flags) == -1) return -errno;
    return (flags & FS_IMMUTABLE_FL) != 0;
}

int coffer_set_mark(int descriptor, const char *name) { return result(fsetxattr(descriptor, name, "", 0, 0)); }
int coffer_has_mark(int descriptor, const char *name) { return fgetxattr(descriptor, name, NULL, 0) >= 0; }

int coffer_sync_file_system(int descriptor) { return result(syncfs(descriptor)); }

static int open_below(const char *root, const char *path) {
    int top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (top == -1) return -errno;
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_IN_ROOT};
    int descriptor = result((int)syscall(SYS_openat2, top, path, &how, sizeof how));
    // Older than Linux 5.6, or a seccomp filter forbids openat2.
    if (descriptor == -ENOSYS || descriptor == -EPERM) {
        while (*path == '/') path++;
        descriptor = result(openat(top, *path ? path : ".", O_PATH | O_NOFOLLOW | O_CLOEXEC));
    }
    close(top);
    return descriptor;
}

int coffer_sync_mounted_file_system(const char *root, const char *path, uint32_t major, uint32_t minor) {
    int place = open_below(root, path);
    if (place < 0) return place;
    // Checks the device before it opens anything: an open would call a file system that another process
    // serves.
    struct statx status;
    int error = result(statx(place, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status));
    if (error == 0 && (status.stx_dev_major != major || status.stx_dev_minor != minor)) error = -EXDEV;
    if (error == 0) {
        char name[32];
        snprintf(name, sizeof name, "/proc/self/fd/%d", place);
        int file = result(open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
        error = file < 0 ? file : result(syncfs(file));
        if (file >= 0) close(file);
    }
    close(place);
    return error;
}

static int open_null(posix_spawn_file_actions_t *actions, int descriptor, int flags) {
    return posix_spawn_file_actions_addopen(actions, descriptor, "/dev/null", flags, 0);
}

static void default_signals(posix_spawnattr_t *attributes, short flags) {
    sigset_t none, standard;
    sigemptyset(&none);
    sigemptyset(&standard);
    sigaddset(&standard, SIGPIPE);
    posix_spawnattr_init(attributes);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &standard);
    posix_spawnattr_setflags(attributes, flags | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

int coffer_spawn_detached(const char *path, char *const *arguments, const int *descriptors, int count,
                          int new_session) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int copies[16];
    pid_t child;
    if (count > 16) return -EINVAL;
    posix_spawn_file_actions_init(&actions);
    default_signals(&attributes, new_session ? POSIX_SPAWN_SETSID : 0);
    open_null(&actions, 0, O_RDONLY);
    open_null(&actions, 1, O_WRONLY);
    // First copied out of the way of 3 … 3 + count, then into place.
    for (int i = 0; i < count; i++) copies[i] = fcntl(descriptors[i], F_DUPFD_CLOEXEC, 3 + count);
    for (int i = 0; i < count; i++) posix_spawn_file_actions_adddup2(&actions, copies[i], 3 + i);
    // Closes everything else that the caller left open (a script's lock, the passphrase).
    posix_spawn_file_actions_addclosefrom_np(&actions, 3 + count);
    int error = posix_spawn(&child, path, &actions, &attributes, arguments, environ);
    for (int i = 0; i < count; i++) close(copies[i]);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error ? -error : child;
}

int coffer_run(const char *name, char *const *arguments) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t child;
    int status;
    posix_spawn_file_actions_init(&actions);
    default_signals(&attributes, 0);
    open_null(&actions, 0, O_RDONLY);
    open_null(&actions, 1, O_WRONLY);
    int error = posix_spawnp(&child, name, &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error) return -error;
    while (waitpid(child, &status, 0) == -1)
        if (errno != EINTR) return -errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int coffer_spawn_piped(const char *name, char *const *arguments, char *const *environment, const int *streams) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int copies[3];
    pid_t child;
    posix_spawn_file_actions_init(&actions);
    default_signals(&attributes, POSIX_SPAWN_SETSID);
    // First copied out of the way of 0 to 2, then into place.
    for (int i = 0; i < 3; i++) copies[i] = fcntl(streams[i], F_DUPFD_CLOEXEC, 3);
    for (int i = 0; i < 3; i++) posix_spawn_file_actions_adddup2(&actions, copies[i], i);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    int error = posix_spawnp(&child, name, &actions, &attributes, arguments, environment);
    for (int i = 0; i < 3; i++) close(copies[i]);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error ? -error : child;
}

int coffer_end_group(pid_t child, int at_once) {
    siginfo_t information = {0};
    if (at_once) kill(-child, SIGKILL);
    int failed = waitid(P_PID, child, &information, WEXITED | WNOHANG | WNOWAIT);
    if (failed == -1) return errno == ECHILD;
    if (information.si_pid == 0) return 0;
    // Until the child is reaped, nobody else can have its number, nor that of its group.
    kill(-child, SIGKILL);
    while (waitpid(child, NULL, 0) == -1 && errno == EINTR) {}
    return 1;
}

int coffer_make_pipe(int *ends) { return result(pipe2(ends, O_CLOEXEC)); }

char *const *coffer_environment(void) { return environ; }

const char *coffer_home_directory(void) {
    struct passwd *user = getpwuid(geteuid());
    return user ? user->pw_dir : NULL;
}

static void ending_signals(sigset_t *set) {
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
}

int coffer_wait_for_signal(void) {
    sigset_t set;
    int signal = 0;
    ending_signals(&set);
    while (sigwait(&set, &signal) != 0) {}
    return signal;
}

void coffer_block_signals(void) {
    sigset_t set;
    ending_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

ssize_t coffer_write_quietly(int descriptor, const void *bytes, size_t count) {
    sigset_t pipe, before, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    ssize_t written = write(descriptor, bytes, count);
    int error = errno;
    // One that was pending before is somebody else's.
    if (written == -1 && error == EPIPE && !sigismember(&pending, SIGPIPE)) {
        struct timespec now = {0, 0};
        while (sigtimedwait(&pipe, NULL, &now) == -1 && errno == EINTR) {}
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}

static int local_address(const char *path, struct sockaddr_un *address) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address->sun_path) return -ENAMETOOLONG;
    strcpy(address->sun_path, path);
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

int coffer_listen(const char *path) {
    struct sockaddr_un address;
    int descriptor = local_address(path, &address);
    if (descriptor < 0) return descriptor == -1 ? -errno : descriptor;
    mode_t mask = umask(0177);
    int bound = bind(descriptor, (struct sockaddr *)&address, sizeof address);
    int error = errno;
    umask(mask);
    if (bound == -1 || listen(descriptor, 16) == -1) {
        error = bound == -1 ? error : errno;
        close(descriptor);
        return -error;
    }
    return descriptor;
}

int coffer_connect(const char *path) {
    struct sockaddr_un address;
    int descriptor = local_address(path, &address);
    if (descriptor < 0) return descriptor == -1 ? -errno : descriptor;
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == -1) {
        int error = errno;
        close(descriptor);
        return -error;
    }
    return descriptor;
}

int coffer_send_datagram(const char *path, const char *text, size_t length) {
    struct sockaddr_un address;
    size_t name = strlen(path);
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    if (name >= sizeof address.sun_path) return -ENAMETOOLONG;
    memcpy(address.sun_path, path, name);
    // An abstract name begins with NUL, and only the length of the address ends it; unix(7).
    if (*path == '@') address.sun_path[0] = 0;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + name + (*path != '@'));
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor == -1) return -errno;
    ssize_t sent = sendto(descriptor, text, length, MSG_NOSIGNAL, (struct sockaddr *)&address, size);
    int error = sent == -1 ? errno : (size_t)sent == length ? 0 : EMSGSIZE;
    close(descriptor);
    return -error;
}

int coffer_accept(int socket) { return result(accept4(socket, NULL, NULL, SOCK_CLOEXEC)); }

void coffer_shut_down(int socket) { shutdown(socket, SHUT_RDWR); }

void coffer_log(int level, const char *text) {
    openlog("coffer", LOG_PID, LOG_DAEMON);
    syslog(level, "%s", text);
}

void coffer_name_process(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

int coffer_reads_open(unsigned long *context, int count) {
    return result((int)syscall(SYS_io_setup, count, context));
}

void coffer_reads_close(unsigned long context) { syscall(SYS_io_destroy, context); }

int coffer_reads_start(unsigned long context, int descriptor, void *buffer, size_t count, off_t offset,
                       uint64_t number, int event) {
    struct iocb read = {.aio_data = number,
                        .aio_lio_opcode = IOCB_CMD_PREAD,
                        .aio_fildes = (uint32_t)descriptor,
                        .aio_buf = (uint64_t)(uintptr_t)buffer,
                        .aio_nbytes = count,
                        .aio_offset = offset,
                        .aio_flags = event < 0 ? 0 : IOCB_FLAG_RESFD,
                        .aio_resfd = event < 0 ? 0 : (uint32_t)event};
    struct iocb *reads[] = {&read};
    long started = syscall(SYS_io_submit, context, 1, reads);
    return started == 1 ? 0 : started == -1 ? -errno : -EAGAIN;
}

long coffer_reads_wait(unsigned long context, int64_t spin, int *slept) {
    struct io_event end;
    struct timespec now = {0, 0};
    int64_t deadline = spin > 0 ? nanoseconds(CLOCK_MONOTONIC) + spin : 0;
    for (;;) {
        int sleeps = spin <= 0 || nanoseconds(CLOCK_MONOTONIC) >= deadline;
        if (sleeps) *slept = 1;
        // The kernel owns the buffer until the event arrives, so an interrupted wait is repeated.
        if (syscall(SYS_io_getevents, context, 1L, 1L, &end, sleeps ? NULL : &now) == 1) return (long)end.res;
    }
}

int coffer_reads_next(unsigned long context, int waits, uint64_t *number, int64_t *count) {
    struct io_event end;
    struct timespec now = {0, 0};
    for (;;) {
        long ended = syscall(SYS_io_getevents, context, waits ? 1L : 0L, 1L, &end, waits ? NULL : &now);
        if (ended == 1) {
            *number = end.data;
            *count = end.res;
            return 1;
        }
        if (!waits) return 0;
    }
}
