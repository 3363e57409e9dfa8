// A filesystem that does nothing but pass on: what any FUSE filesystem over a directory can reach at best.
//
//     fuse-ceiling-passthrough DIRECTORY MOUNTPOINT
#define _GNU_SOURCE
#include "ceiling.h"
#include "nodes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static void init(void *data, struct fuse_conn_info *connection)
{
    (void)data;
    ceiling_init(connection);
}

static int reply_node(fuse_req_t request, struct fuse_entry_param *entry, int result)
{
    return result == 0 ? fuse_reply_entry(request, entry) : fuse_reply_err(request, -result);
}

static int enter(fuse_ino_t parent, const char *name, struct fuse_entry_param *entry)
{
    memset(entry, 0, sizeof *entry);
    entry->attr_timeout = entry->entry_timeout = CEILING_TIMEOUT;
    struct node *node;
    int result = node_enter(node_of(parent), name, &node, &entry->attr);
    if (result == 0) entry->ino = (uintptr_t)node;
    return result;
}

static void lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    struct fuse_entry_param entry;
    int result = enter(parent, name, &entry);
    // A name that does not exist may be remembered as well.
    if (result == -ENOENT) result = 0;
    reply_node(request, &entry, result);
}

static void forget(fuse_req_t request, fuse_ino_t inode, uint64_t count)
{
    node_forget(node_of(inode), count);
    fuse_reply_none(request);
}

static void forget_many(fuse_req_t request, size_t count, struct fuse_forget_data *list)
{
    for (size_t index = 0; index < count; index++) node_forget(node_of(list[index].ino), list[index].nlookup);
    fuse_reply_none(request);
}

static void attributes(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file)
{
    (void)file;
    struct stat status;
    if (fstatat(node_of(inode)->path, "", &status, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0)
        fuse_reply_err(request, errno);
    else
        fuse_reply_attr(request, &status, CEILING_TIMEOUT);
}

static void set_attributes(
    fuse_req_t request, fuse_ino_t inode, struct stat *to, int which, struct fuse_file_info *file)
{
    int descriptor = node_of(inode)->path;
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    int result = 0;
    if (which & FUSE_SET_ATTR_MODE) result = chmod(path, to->st_mode);
    if (result == 0 && which & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) {
        uid_t user = which & FUSE_SET_ATTR_UID ? to->st_uid : (uid_t)-1;
        gid_t group = which & FUSE_SET_ATTR_GID ? to->st_gid : (gid_t)-1;
        result = fchownat(descriptor, "", user, group, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
    }
    if (result == 0 && which & FUSE_SET_ATTR_SIZE) result = truncate(path, to->st_size);
    if (result == 0 && which & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME)) {
        struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_OMIT}};
        if (which & FUSE_SET_ATTR_ATIME) times[0] = to->st_atim;
        if (which & FUSE_SET_ATTR_MTIME) times[1] = to->st_mtim;
        if (which & FUSE_SET_ATTR_ATIME_NOW) times[0].tv_nsec = UTIME_NOW;
        if (which & FUSE_SET_ATTR_MTIME_NOW) times[1].tv_nsec = UTIME_NOW;
        result = utimensat(AT_FDCWD, path, times, 0);
    }
    if (result < 0)
        fuse_reply_err(request, errno);
    else
        attributes(request, inode, file);
}

static void make_directory(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode)
{
    struct fuse_entry_param entry;
    int result = mkdirat(node_of(parent)->path, name, mode) < 0 ? -errno : enter(parent, name, &entry);
    reply_node(request, &entry, result);
}

static void make_link(fuse_req_t request, const char *target, fuse_ino_t parent, const char *name)
{
    struct fuse_entry_param entry;
    int result = symlinkat(target, node_of(parent)->path, name) < 0 ? -errno : enter(parent, name, &entry);
    reply_node(request, &entry, result);
}

static void link_node(fuse_req_t request, fuse_ino_t inode, fuse_ino_t parent, const char *name)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", node_of(inode)->path);
    struct fuse_entry_param entry;
    int result = linkat(AT_FDCWD, path, node_of(parent)->path, name, AT_SYMLINK_FOLLOW) < 0
        ? -errno : enter(parent, name, &entry);
    reply_node(request, &entry, result);
}

static void read_link(fuse_req_t request, fuse_ino_t inode)
{
    char target[4097];
    ssize_t length = readlinkat(node_of(inode)->path, "", target, sizeof target - 1);
    if (length < 0) {
        fuse_reply_err(request, errno);
    } else {
        target[length] = 0;
        fuse_reply_readlink(request, target);
    }
}

static void reply_result(fuse_req_t request, int result)
{
    fuse_reply_err(request, result < 0 ? errno : 0);
}

static void remove_file(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    reply_result(request, unlinkat(node_of(parent)->path, name, 0));
}

static void remove_directory(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    reply_result(request, unlinkat(node_of(parent)->path, name, AT_REMOVEDIR));
}

static void move(fuse_req_t request, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
    const char *new_name, unsigned flags)
{
    reply_result(request,
        (int)syscall(SYS_renameat2, node_of(parent)->path, name, node_of(new_parent)->path, new_name, flags));
}

static void create(
    fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *file)
{
    int flags = (file->flags & O_EXCL) | O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
    int descriptor = openat(node_of(parent)->path, name, flags, mode);
    if (descriptor < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    struct fuse_entry_param entry;
    int result = enter(parent, name, &entry);
    if (result < 0) {
        close(descriptor);
        fuse_reply_err(request, -result);
        return;
    }
    node_keep_open(node_of(entry.ino), descriptor);
    fuse_reply_create(request, &entry, file);
}

static void read_file(
    fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, struct fuse_file_info *file)
{
    (void)file;
    // One thread serves, so one buffer is enough.
    static char *buffer;
    if (buffer == NULL) buffer = malloc(1 << 20);
    if (size > 1 << 20) size = 1 << 20;
    int descriptor = node_open(node_of(inode));
    ssize_t length = descriptor < 0 ? -1 : pread(descriptor, buffer, size, offset);
    if (length < 0)
        fuse_reply_err(request, errno);
    else
        fuse_reply_buf(request, buffer, (size_t)length);
}

static void write_file(fuse_req_t request, fuse_ino_t inode, const char *bytes, size_t size, off_t offset,
    struct fuse_file_info *file)
{
    (void)file;
    int descriptor = node_open(node_of(inode));
    ssize_t length = descriptor < 0 ? -1 : pwrite(descriptor, bytes, size, offset);
    if (length < 0)
        fuse_reply_err(request, errno);
    else
        fuse_reply_write(request, (size_t)length);
}

static void sync_file(fuse_req_t request, fuse_ino_t inode, int content_only, struct fuse_file_info *file)
{
    (void)file;
    int descriptor = node_open(node_of(inode));
    if (descriptor < 0)
        fuse_reply_err(request, errno);
    else
        reply_result(request, content_only ? fdatasync(descriptor) : fsync(descriptor));
}

// As the kernel writes it: glibc hides it behind a stream, which would need a request for opening.
struct kernel_entry {
    uint64_t inode;
    int64_t next;
    unsigned short length;
    unsigned char type;
    char name[];
};

static void list(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, int plus)
{
    static char *answer;
    static char entries[32768];
    if (answer == NULL) answer = malloc(1 << 20);
    if (size > 1 << 20) size = 1 << 20;
    int descriptor = node_open(node_of(inode));
    if (descriptor < 0 || lseek(descriptor, offset, SEEK_SET) < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    // What fits into the answer is less than what was read; the rest is read again by the next request.
    long length = syscall(SYS_getdents64, descriptor, entries, size < sizeof entries ? size : sizeof entries);
    if (length < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    size_t used = 0;
    for (long position = 0; position < length;) {
        struct kernel_entry *entry = (struct kernel_entry *)(entries + position);
        struct fuse_entry_param found = {
            .attr = {.st_ino = entry->inode, .st_mode = (mode_t)(entry->type << 12)},
            .attr_timeout = CEILING_TIMEOUT, .entry_timeout = CEILING_TIMEOUT};
        int is_dot = strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0;
        size_t needed = plus ? fuse_add_direntry_plus(request, NULL, 0, entry->name, NULL, 0)
                             : fuse_add_direntry(request, NULL, 0, entry->name, NULL, 0);
        if (used + needed > size) break;
        if (plus) {
            // An entry that vanished meanwhile is told without a node.
            if (!is_dot && enter(inode, entry->name, &found) < 0) found.ino = 0;
            fuse_add_direntry_plus(request, answer + used, size - used, entry->name, &found, entry->next);
        } else {
            fuse_add_direntry(request, answer + used, size - used, entry->name, &found.attr, entry->next);
        }
        used += needed;
        position += entry->length;
    }
    fuse_reply_buf(request, answer, used);
}

static void list_names(
    fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, struct fuse_file_info *file)
{
    (void)file;
    list(request, inode, size, offset, 0);
}

static void list_plus(
    fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, struct fuse_file_info *file)
{
    (void)file;
    list(request, inode, size, offset, 1);
}

static void file_system(fuse_req_t request, fuse_ino_t inode)
{
    struct statvfs status;
    if (fstatvfs(node_of(inode)->path, &status) < 0)
        fuse_reply_err(request, errno);
    else
        fuse_reply_statfs(request, &status);
}

static const struct fuse_lowlevel_ops operations = {
    .init = init, .lookup = lookup, .forget = forget, .forget_multi = forget_many, .getattr = attributes,
    .setattr = set_attributes, .mkdir = make_directory, .symlink = make_link, .link = link_node,
    .readlink = read_link, .unlink = remove_file, .rmdir = remove_directory, .rename = move, .create = create,
    .open = ceiling_open, .opendir = ceiling_open, .read = read_file, .write = write_file, .fsync = sync_file,
    .fsyncdir = sync_file, .readdir = list_names, .readdirplus = list_plus, .statfs = file_system,
};

int main(int count, char **arguments)
{
    if (count != 3) {
        fprintf(stderr, "usage: %s DIRECTORY MOUNTPOINT\n", arguments[0]);
        return 64;
    }
    // A descriptor for each node that the kernel knows.
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    umask(0);
    if (nodes_start(arguments[1]) < 0) {
        perror(arguments[1]);
        return 66;
    }
    return ceiling_serve("fuse-passthrough", arguments[2], &operations);
}
