// Linux system calls and constants that Swift's Glibc module does not offer, or offers only as macros.
// Every call returns -1 with errno set on failure, like the call it stands for.
#pragma once

#include <stdint.h>
#include <sys/types.h>

extern const int32_t LINUX_O_TMPFILE, LINUX_O_PATH, LINUX_O_DIRECT, LINUX_AT_EMPTY_PATH;
extern const int32_t LINUX_SEEK_DATA, LINUX_SEEK_HOLE;
extern const int32_t LINUX_FALLOCATE_KEEP_SIZE, LINUX_FALLOCATE_PUNCH_HOLE, LINUX_FALLOCATE_ZERO_RANGE;
extern const int32_t LINUX_FALLOCATE_COLLAPSE_RANGE;
extern const uint32_t LINUX_RENAME_NOREPLACE, LINUX_RENAME_EXCHANGE;
extern const int64_t LINUX_UTIME_NOW, LINUX_UTIME_OMIT;

/// The result of stat(2), in flat fields.
struct linux_status {
    uint64_t device, inode, special_device, links;
    uint32_t mode, owner, group;
    int64_t size, blocks;
    int64_t accessed, accessed_nanoseconds;
    int64_t modified, modified_nanoseconds;
    int64_t changed, changed_nanoseconds;
};

/// The result of statfs(2).
struct linux_filesystem {
    uint64_t block_size, blocks, free_blocks, files, free_files, name_length;
};

/// A file handle as name_to_handle_at(2) fills it.
struct linux_handle {
    uint32_t bytes;
    int32_t type;
    unsigned char data[128];
};

/// The credentials that a thread takes on before its body runs.
struct linux_credentials {
    int32_t change;
    uint32_t user, group;
    const uint32_t *groups;
    size_t group_count;
    uint32_t mask;
};

int linux_open(int directory, const char *path, int flags, uint32_t mode);
int linux_status_at(int directory, const char *path, int flags, struct linux_status *status);
int linux_statx(const char *path, struct linux_status *status);
int linux_statfs(const char *path, struct linux_filesystem *filesystem);
int linux_rename(const char *from, const char *to, uint32_t flags);
int linux_fallocate(int file, int mode, int64_t offset, int64_t length);
/// Writes one block of a file `rounds` times past the page cache, with io_submit(2), while a thread reads the block
/// through the cache. Returns the number of writes after which a read through the cache gave old bytes; -1 with EINVAL
/// where the file system has no O_DIRECT.
int linux_count_stale_reads(const char *path, size_t size, int rounds);
ssize_t linux_copy_file_range(int from, int64_t *from_offset, int to, int64_t *to_offset, size_t length);
int linux_mknod(const char *path, uint32_t mode, uint32_t major, uint32_t minor);
int linux_set_times(int directory, const char *path, int64_t accessed, int64_t accessed_nanoseconds,
                    int64_t modified, int64_t modified_nanoseconds, int flags);

ssize_t linux_read_link(const char *path, void *buffer, size_t size);
int linux_set_attribute(const char *path, const char *name, const void *value, size_t size, int flags);
ssize_t linux_get_attribute(const char *path, const char *name, void *value, size_t size);
ssize_t linux_list_attributes(const char *path, void *names, size_t size);
int linux_remove_attribute(const char *path, const char *name);

/// flock(2); the operation is one of LOCK_SH, LOCK_EX, LOCK_UN, with or without LOCK_NB.
int linux_flock(int file, int operation);
/// A lock of this open file description (F_OFD_SETLK).
int linux_description_lock(int file, int type, int64_t start, int64_t length);
/// A lock of this process (F_SETLK).
int linux_record_lock(int file, int type, int64_t start, int64_t length);
/// The error number that a child process gets when it requests a record lock; 0 if it gets the lock.
int linux_child_record_lock(const char *path, int type, int64_t start, int64_t length);
/// The error number that a child process gets when it requests a flock without waiting; 0 if it gets the lock.
int linux_child_flock(const char *path, int operation);

int linux_name_to_handle(const char *path, struct linux_handle *handle);
int linux_open_by_handle(int mount, struct linux_handle *handle, int flags);
/// Frees reclaimable inodes and names, so that the next look-up asks the filesystem.
int linux_drop_caches(void);

/// A stream socket bound to `path`.
int linux_bind_socket(const char *path);
/// A stream socket connected to the one at `path`.
int linux_connect_socket(const char *path);

/// Maps a file; NULL on failure. `shared` says whether writes reach the file.
void *linux_map(int file, int64_t offset, size_t length, int writable, int shared);

/// The entries that getdents64(2) yields with a buffer of `size` bytes.
int linux_count_entries(int directory, size_t size);
/// The name of a directory entry as readdir(3) returned it (struct dirent *).
const char *linux_entry_name(const void *entry);
/// The type and the inode of a directory entry.
int linux_entry_type(const void *entry);
uint64_t linux_entry_inode(const void *entry);

/// "ENOENT" for 2.
const char *linux_error_name(int code);

/// Runs `body(context)` on a thread of its own with a working directory, umask and credentials of its own.
int linux_run_on_thread(const struct linux_credentials *credentials, void (*body)(void *), void *context);
/// Runs `body(context, index)` on `count` threads at once, one for each of the credentials.
int linux_run_on_threads(const struct linux_credentials *credentials, size_t count,
                         void (*body)(void *, size_t), void *context);
/// Sets the calling thread's umask (shared with nobody after linux_run_on_thread).
uint32_t linux_umask(uint32_t mask);
/// EXT4_IOC_SHUTDOWN without flushing the log: the filesystem behaves as after a power cut.
int linux_shut_down(const char *path);

/// Fills a buffer with bytes that differ at every position of a page and from seed to seed.
void fill_pattern(unsigned char *buffer, size_t count, uint64_t seed);
/// FNV-1a of 64 bits.
uint64_t hash_bytes(const unsigned char *bytes, size_t count);
/// Fills the 512 words of a page: the generation, then words that depend on all three numbers.
void fill_page(uint64_t *words, uint64_t file, uint64_t generation, uint64_t page);
