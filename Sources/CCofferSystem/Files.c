#define _GNU_SOURCE
#include "CCofferSystem.h"
#include "Result.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

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
int coffer_path_has_mark(const char *path, const char *name) { return getxattr(path, name, NULL, 0) >= 0; }

ssize_t coffer_get_attribute(int descriptor, const char *name, void *buffer, size_t count) {
    ssize_t got = fgetxattr(descriptor, name, buffer, count);
    return got == -1 ? -errno : got;
}

uint32_t coffer_device_major(dev_t device) { return major(device); }
uint32_t coffer_device_minor(dev_t device) { return minor(device); }

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

ssize_t coffer_read_at_hand(int descriptor, void *buffer, size_t count, off_t offset) {
    struct iovec part = {buffer, count};
    ssize_t got = preadv2(descriptor, &part, 1, offset, RWF_NOWAIT);
    return got == -1 ? -errno : got;
}
