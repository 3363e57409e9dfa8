#pragma once
// Calls that Glibc's Swift overlay lacks (GNU-only, variadic or macros). Each returns -errno on failure.

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// fallocate(2) with FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE.
int coffer_punch_hole(int descriptor, off_t offset, off_t length);
/// fallocate(2) with FALLOC_FL_KEEP_SIZE.
int coffer_preallocate(int descriptor, off_t offset, off_t length);
/// sync_file_range(2) with SYNC_FILE_RANGE_WRITE: starts writing, does not wait, promises nothing.
int coffer_start_writeback(int descriptor, off_t offset, off_t length);
/// open(2) with three arguments.
int coffer_open_at(int directory, const char *path, int flags, mode_t mode);
/// renameat2(2) with RENAME_NOREPLACE.
int coffer_rename_exclusively(int from, const char *old_name, int to, const char *new_name);
/// fstatfs(2): f_type, which names the kind of file system, or -errno.
int64_t coffer_file_system_type(int descriptor);
/// eventfd(2), nonblocking: a descriptor that can be read once somebody wrote eight bytes to it.
int coffer_open_event(void);
/// prctl(PR_SET_DUMPABLE, 0) and RLIMIT_CORE 0.
int coffer_forbid_core_dumps(void);
/// Nanoseconds of CLOCK_BOOTTIME, which runs through suspend and cannot be set.
int64_t coffer_boot_time_ns(void);
/// Nanoseconds of CLOCK_REALTIME since 1970.
int64_t coffer_real_time_ns(void);
/// Nanoseconds since 1970 as the kernel stamps files at this moment: never before a stamp that it gave until now on
/// any file system, nor behind one that it gives from now on.
int64_t coffer_file_time_ns(void);
/// Nanoseconds of CLOCK_MONOTONIC.
int64_t coffer_monotonic_time_ns(void);
/// O_DIRECT, O_CLOEXEC, O_NOFOLLOW, O_DIRECTORY as this architecture has them.
extern const int coffer_O_DIRECT;
/// O_NONBLOCK set or cleared on a descriptor.
int coffer_set_nonblocking(int descriptor, int nonblocking);
/// O_DIRECT set or cleared on a descriptor; EINVAL where the file system does not have it.
int coffer_set_direct(int descriptor, int direct);
/// FD_CLOEXEC set or cleared on a descriptor.
int coffer_set_close_on_exec(int descriptor, int close);
/// The user at the other end of a Unix socket (SO_PEERCRED), or -errno.
int64_t coffer_peer_user(int socket);
/// io_setup(2) for one read at a time.
int coffer_reads_open(unsigned long *context);
/// io_destroy(2).
void coffer_reads_close(unsigned long context);
/// io_submit(2) of one read; the buffer is the kernel's until `coffer_reads_wait` returns.
int coffer_reads_start(unsigned long context, int descriptor, void *buffer, size_t count, off_t offset);
/// io_getevents(2): waits for the read, the first `spin` nanoseconds without sleeping; returns its bytes or -errno.
long coffer_reads_wait(unsigned long context, int64_t spin, int *slept);
/// Zeroed memory of its own that begins with a huge page (2 MiB), in such pages as far as it fills them; NULL if there
/// is none. `length` is in whole pages. To be given back with munmap(2).
void *coffer_map_huge_pages(size_t length);
/// madvise(MADV_DONTDUMP | MADV_WIPEONFORK) for memory that holds plaintext; a hint.
void coffer_advise_private(void *start, size_t length);
/// ioctl(TIOCGWINSZ): columns of the terminal, or 0.
int coffer_terminal_columns(int descriptor);
/// pthread_setname_np(3).
void coffer_name_thread(unsigned long thread, const char *name);
/// FS_IOC_SETFLAGS: FS_IMMUTABLE_FL set or cleared.
int coffer_set_immutable(int descriptor, int immutable);
/// FS_IOC_GETFLAGS: whether FS_IMMUTABLE_FL is set.
int coffer_is_immutable(int descriptor);
/// fsetxattr(2) of an attribute that only root sees, without a value.
int coffer_set_mark(int descriptor, const char *name);
/// fgetxattr(2): whether such an attribute is there.
int coffer_has_mark(int descriptor, const char *name);
/// syncfs(2).
int coffer_sync_file_system(int descriptor);
/// syncfs(2) of the file system of this number that is mounted at `path` as a process sees it whose root directory is
/// `root`; follows no symbolic links below that. -EXDEV if something else is there.
int coffer_sync_mounted_file_system(const char *root, const char *path, uint32_t major, uint32_t minor);
/// Starts a program, in a session of its own unless `new_session` is 0: standard input and output from and to /dev/null, standard
/// error as it is, `descriptors[i]` as 3 + i. Returns its process id, or -errno.
int coffer_spawn_detached(const char *path, char *const *arguments, const int *descriptors, int count,
                          int new_session);
/// Runs a program found in PATH, standard input and output from and to /dev/null; returns its exit status, or -errno.
int coffer_run(const char *name, char *const *arguments);
/// The path of the user's home directory, as getpwuid(3) has it, or null.
const char *coffer_home_directory(void);
/// Blocks until one of SIGTERM, SIGINT and SIGHUP comes, all of which must be blocked; returns which.
int coffer_wait_for_signal(void);
/// Blocks SIGTERM, SIGINT and SIGHUP in this thread and those that it starts; ignores SIGPIPE.
void coffer_block_signals(void);
/// Makes, binds and listens on a Unix socket of mode 0600; returns its descriptor or -errno.
int coffer_listen(const char *path);
/// Connects to a Unix socket; returns a descriptor or -errno.
int coffer_connect(const char *path);
/// Sends one datagram to the Unix socket at `path`; with “@” in front, to that name in the abstract namespace.
int coffer_send_datagram(const char *path, const char *text, size_t length);
/// accept4(2) with SOCK_CLOEXEC.
int coffer_accept(int socket);
/// shutdown(2) of both directions.
void coffer_shut_down(int socket);
/// syslog(3), facility daemon, level warning.
void coffer_log_warning(const char *text);
/// prctl(PR_SET_NAME): what ps(1) shows; a program started through /proc/self/exe is named "exe" else.
void coffer_name_process(const char *name);
