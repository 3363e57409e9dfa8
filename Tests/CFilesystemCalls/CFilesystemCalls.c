#define _GNU_SOURCE
#include "CFilesystemCalls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

const int32_t LINUX_O_TMPFILE = O_TMPFILE, LINUX_O_PATH = O_PATH, LINUX_O_DIRECT = O_DIRECT;
const int32_t LINUX_AT_EMPTY_PATH = AT_EMPTY_PATH;
const int32_t LINUX_SEEK_DATA = SEEK_DATA, LINUX_SEEK_HOLE = SEEK_HOLE;
const int32_t LINUX_FALLOCATE_KEEP_SIZE = FALLOC_FL_KEEP_SIZE;
const int32_t LINUX_FALLOCATE_PUNCH_HOLE = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
const int32_t LINUX_FALLOCATE_ZERO_RANGE = FALLOC_FL_ZERO_RANGE;
const int32_t LINUX_FALLOCATE_COLLAPSE_RANGE = FALLOC_FL_COLLAPSE_RANGE;
const uint32_t LINUX_RENAME_NOREPLACE = RENAME_NOREPLACE, LINUX_RENAME_EXCHANGE = RENAME_EXCHANGE;
const int64_t LINUX_UTIME_NOW = UTIME_NOW, LINUX_UTIME_OMIT = UTIME_OMIT;

int linux_open(int directory, const char *path, int flags, uint32_t mode) {
    return openat(directory, path, flags | O_CLOEXEC, mode);
}

int linux_status_at(int directory, const char *path, int flags, struct linux_status *out) {
    struct stat st;
    if (fstatat(directory, path, &st, flags) != 0) return -1;
    *out = (struct linux_status){
        .device = st.st_dev, .inode = st.st_ino, .special_device = st.st_rdev, .links = st.st_nlink,
        .mode = st.st_mode, .owner = st.st_uid, .group = st.st_gid, .size = st.st_size,
        .blocks = st.st_blocks, .accessed = st.st_atim.tv_sec, .accessed_nanoseconds = st.st_atim.tv_nsec,
        .modified = st.st_mtim.tv_sec, .modified_nanoseconds = st.st_mtim.tv_nsec,
        .changed = st.st_ctim.tv_sec, .changed_nanoseconds = st.st_ctim.tv_nsec};
    return 0;
}

int linux_statx(const char *path, struct linux_status *out) {
    struct statx sx;
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &sx) != 0) return -1;
    *out = (struct linux_status){
        .device = makedev(sx.stx_dev_major, sx.stx_dev_minor), .inode = sx.stx_ino,
        .special_device = makedev(sx.stx_rdev_major, sx.stx_rdev_minor), .links = sx.stx_nlink,
        .mode = sx.stx_mode, .owner = sx.stx_uid, .group = sx.stx_gid, .size = sx.stx_size,
        .blocks = sx.stx_blocks, .accessed = sx.stx_atime.tv_sec,
        .accessed_nanoseconds = sx.stx_atime.tv_nsec, .modified = sx.stx_mtime.tv_sec,
        .modified_nanoseconds = sx.stx_mtime.tv_nsec, .changed = sx.stx_ctime.tv_sec,
        .changed_nanoseconds = sx.stx_ctime.tv_nsec};
    return 0;
}

int linux_statfs(const char *path, struct linux_filesystem *out) {
    struct statfs sf;
    if (statfs(path, &sf) != 0) return -1;
    *out = (struct linux_filesystem){.block_size = sf.f_bsize, .blocks = sf.f_blocks,
        .free_blocks = sf.f_bfree, .files = sf.f_files, .free_files = sf.f_ffree,
        .name_length = sf.f_namelen};
    return 0;
}

int linux_rename(const char *from, const char *to, uint32_t flags) {
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, flags);
}

int linux_fallocate(int file, int mode, int64_t offset, int64_t length) {
    return fallocate(file, mode, offset, length);
}

struct block_reader {
    int file;
    size_t size;
    atomic_int ends;
};

static void *read_block(void *context) {
    struct block_reader *reader = context;
    unsigned char *bytes = malloc(reader->size);
    while (bytes && !atomic_load(&reader->ends)) (void)!pread(reader->file, bytes, reader->size, 0);
    free(bytes);
    return NULL;
}

static int write_block(unsigned long context, int file, const void *bytes, size_t size) {
    struct iocb block = {.aio_fildes = (uint32_t)file,
                         .aio_lio_opcode = IOCB_CMD_PWRITE,
                         .aio_buf = (uint64_t)(uintptr_t)bytes,
                         .aio_nbytes = size};
    struct iocb *blocks[] = {&block};
    struct io_event event;
    if (syscall(SYS_io_submit, context, 1, blocks) != 1) return -1;
    if (syscall(SYS_io_getevents, context, 1, 1, &event, NULL) != 1) return -1;
    if (event.res == (int64_t)size) return 0;
    errno = event.res < 0 ? (int)-event.res : EIO;
    return -1;
}

int linux_count_stale_reads(const char *path, size_t size, int rounds) {
    int stale = -1, error;
    unsigned long context = 0;
    unsigned char *bytes = NULL, *seen = malloc(size);
    struct block_reader reader = {.size = size};
    pthread_t thread;
    int direct = open(path, O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0644);
    reader.file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (direct < 0 || reader.file < 0 || !seen || posix_memalign((void **)&bytes, 4096, size)) goto end;
    memset(bytes, 0, size);
    if (syscall(SYS_io_setup, 1, &context) == -1) goto end;
    if (write_block(context, direct, bytes, size) == -1) goto end;
    if (pthread_create(&thread, NULL, read_block, &reader) != 0) goto end;
    stale = 0;
    for (int round = 1; round <= rounds && stale >= 0; round++) {
        memset(bytes, round, size);
        if (write_block(context, direct, bytes, size) == -1 || pread(reader.file, seen, size, 0) != (ssize_t)size)
            stale = -1;
        else if (memcmp(bytes, seen, size) != 0)
            stale++;
    }
    error = errno;
    atomic_store(&reader.ends, 1);
    pthread_join(thread, NULL);
    errno = error;
end:
    error = errno;
    if (context) syscall(SYS_io_destroy, context);
    if (direct >= 0) close(direct);
    if (reader.file >= 0) close(reader.file);
    free(bytes);
    free(seen);
    errno = error;
    return stale;
}

ssize_t linux_copy_file_range(int from, int64_t *from_offset, int to, int64_t *to_offset, size_t length) {
    return copy_file_range(from, from_offset, to, to_offset, length, 0);
}

int linux_mknod(const char *path, uint32_t mode, uint32_t major, uint32_t minor) {
    return mknod(path, mode, makedev(major, minor));
}

int linux_set_times(int directory, const char *path, int64_t accessed, int64_t accessed_nanoseconds,
                    int64_t modified, int64_t modified_nanoseconds, int flags) {
    struct timespec times[2] = {{accessed, accessed_nanoseconds}, {modified, modified_nanoseconds}};
    return path ? utimensat(directory, path, times, flags) : futimens(directory, times);
}

ssize_t linux_read_link(const char *path, void *buffer, size_t size) {
    return readlink(path, buffer, size);
}

int linux_set_attribute(const char *path, const char *name, const void *value, size_t size, int flags) {
    return setxattr(path, name, value, size, flags);
}

ssize_t linux_get_attribute(const char *path, const char *name, void *value, size_t size) {
    return getxattr(path, name, value, size);
}

ssize_t linux_list_attributes(const char *path, void *names, size_t size) {
    return listxattr(path, names, size);
}

int linux_remove_attribute(const char *path, const char *name) {
    return removexattr(path, name);
}

int linux_flock(int file, int operation) {
    return flock(file, operation);
}

static int set_lock(int file, int command, int type, int64_t start, int64_t length) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
    return fcntl(file, command, &lock);
}

int linux_description_lock(int file, int type, int64_t start, int64_t length) {
    return set_lock(file, F_OFD_SETLK, type, start, length);
}

int linux_record_lock(int file, int type, int64_t start, int64_t length) {
    return set_lock(file, F_SETLK, type, start, length);
}

static int outcome_of_child(pid_t child) {
    int status = 0;
    if (child < 0) return -1;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int linux_child_record_lock(const char *path, int type, int64_t start, int64_t length) {
    pid_t child = fork();
    if (child != 0) return outcome_of_child(child);
    int file = open(path, O_RDWR | O_CLOEXEC);
    _exit(file < 0 || set_lock(file, F_SETLK, type, start, length) != 0 ? errno : 0);
}

int linux_child_flock(const char *path, int operation) {
    pid_t child = fork();
    if (child != 0) return outcome_of_child(child);
    int file = open(path, O_RDWR | O_CLOEXEC);
    _exit(file < 0 || flock(file, operation | LOCK_NB) != 0 ? errno : 0);
}

int linux_name_to_handle(const char *path, struct linux_handle *handle) {
    int mount;
    handle->bytes = sizeof handle->data;
    return name_to_handle_at(AT_FDCWD, path, (struct file_handle *)handle, &mount, 0);
}

int linux_open_by_handle(int mount, struct linux_handle *handle, int flags) {
    return open_by_handle_at(mount, (struct file_handle *)handle, flags | O_CLOEXEC);
}

int linux_drop_caches(void) {
    int file = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t written = write(file, "2", 1);
    close(file);
    return written == 1 ? 0 : -1;
}

static int socket_at(const char *path, int connecting) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    int number = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (number < 0) return -1;
    const struct sockaddr *name = (const struct sockaddr *)&address;
    int result = connecting ? connect(number, name, sizeof address) : bind(number, name, sizeof address);
    if (result == 0 && !connecting) result = listen(number, 4);
    if (result == 0) return number;
    int error = errno;
    close(number);
    errno = error;
    return -1;
}

int linux_bind_socket(const char *path) {
    return socket_at(path, 0);
}

int linux_connect_socket(const char *path) {
    return socket_at(path, 1);
}

void *linux_map(int file, int64_t offset, size_t length, int writable, int shared) {
    void *address = mmap(NULL, length, PROT_READ | (writable ? PROT_WRITE : 0),
                         shared ? MAP_SHARED : MAP_PRIVATE, file, offset);
    return address == MAP_FAILED ? NULL : address;
}

int linux_count_entries(int directory, size_t size) {
    char *buffer = malloc(size);
    int count = 0;
    for (;;) {
        long length = syscall(SYS_getdents64, directory, buffer, size);
        if (length <= 0) {
            int error = errno;
            free(buffer);
            errno = error;
            return length < 0 ? -1 : count;
        }
        for (long position = 0; position < length; count++)
            position += ((struct dirent64 *)(buffer + position))->d_reclen;
    }
}

const char *linux_entry_name(const void *entry) {
    return ((const struct dirent *)entry)->d_name;
}

int linux_entry_type(const void *entry) {
    return ((const struct dirent *)entry)->d_type;
}

uint64_t linux_entry_inode(const void *entry) {
    return ((const struct dirent *)entry)->d_ino;
}

const char *linux_error_name(int code) {
    const char *name = strerrorname_np(code);
    return name ? name : "unknown error";
}

struct thread_start {
    const struct linux_credentials *credentials;
    void (*single)(void *);
    void (*indexed)(void *, size_t);
    void *context;
    size_t index;
    int error;
};

// The raw calls change only this thread; the functions of the C library change every thread.
static int take_on(const struct linux_credentials *as) {
    if (unshare(CLONE_FS) != 0) return errno;
    umask(as->mask);
    if (!as->change) return 0;
    if (syscall(SYS_setgroups, as->group_count, as->groups) != 0) return errno;
    if (syscall(SYS_setresgid, as->group, as->group, as->group) != 0) return errno;
    if (syscall(SYS_setresuid, as->user, as->user, as->user) != 0) return errno;
    return 0;
}

static void *thread_main(void *argument) {
    struct thread_start *start = argument;
    start->error = take_on(start->credentials);
    if (start->error != 0) return NULL;
    if (start->single) start->single(start->context);
    else start->indexed(start->context, start->index);
    return NULL;
}

int linux_run_on_thread(const struct linux_credentials *credentials, void (*body)(void *), void *context) {
    struct thread_start start = {.credentials = credentials, .single = body, .context = context};
    pthread_t thread;
    int error = pthread_create(&thread, NULL, thread_main, &start);
    if (error == 0) error = pthread_join(thread, NULL);
    errno = error ? error : start.error;
    return errno ? -1 : 0;
}

int linux_run_on_threads(const struct linux_credentials *credentials, size_t count,
                         void (*body)(void *, size_t), void *context) {
    struct thread_start starts[64] = {0};
    pthread_t threads[64];
    size_t started = 0;
    int error = count > 64 ? EINVAL : 0;
    for (; error == 0 && started < count; started++) {
        starts[started] = (struct thread_start){
            .credentials = &credentials[started], .indexed = body, .context = context, .index = started};
        error = pthread_create(&threads[started], NULL, thread_main, &starts[started]);
        if (error != 0) break;
    }
    for (size_t i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
        if (error == 0) error = starts[i].error;
    }
    errno = error;
    return error ? -1 : 0;
}

uint32_t linux_umask(uint32_t mask) {
    return umask(mask);
}

int linux_shut_down(const char *path) {
    uint32_t without_flushing_the_log = 2;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    int result = ioctl(file, _IOR('X', 125, uint32_t), &without_flushing_the_log);
    close(file);
    return result;
}

void fill_pattern(unsigned char *buffer, size_t count, uint64_t seed) {
    for (size_t i = 0; i < count; i++) buffer[i] = (i * 31) ^ (i >> 8) ^ (seed * 97);
}

uint64_t hash_bytes(const unsigned char *bytes, size_t count) {
    uint64_t hash = 0xCBF29CE484222325;
    for (size_t i = 0; i < count; i++) hash = (hash ^ bytes[i]) * 0x100000001B3;
    return hash;
}

static uint64_t mixed(uint64_t word) {
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
    return word ^ (word >> 31);
}

void fill_page(uint64_t *words, uint64_t file, uint64_t generation, uint64_t page) {
    uint64_t seed = mixed(file ^ mixed(generation ^ mixed(page)));
    words[0] = generation;
    for (size_t i = 1; i < 512; i++) words[i] = mixed(seed + i * 0x9E3779B97F4A7C15);
}
