#pragma once
// Calls that Swift cannot import from Glibc (GNU-only, variadic, or macros). Each returns -errno on failure,
// unless its comment says otherwise.

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Files.c

/// fallocate(2) with FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE.
int coffer_punch_hole(int descriptor, off_t offset, off_t length);
/// fallocate(2) with FALLOC_FL_KEEP_SIZE.
int coffer_preallocate(int descriptor, off_t offset, off_t length);
/// sync_file_range(2) with SYNC_FILE_RANGE_WRITE: starts writing, does not wait, promises nothing.
int coffer_start_writeback(int descriptor, off_t offset, off_t length);
/// openat(2) with four arguments.
int coffer_open_at(int directory, const char *path, int flags, mode_t mode);
/// renameat2(2) with RENAME_NOREPLACE.
int coffer_rename_exclusively(int from, const char *old_name, int to, const char *new_name);
/// fstatfs(2): f_type, the type of the file system, or -errno.
int64_t coffer_file_system_type(int descriptor);
/// O_DIRECT, whose value depends on the architecture.
extern const int coffer_O_DIRECT;
/// Sets or clears O_NONBLOCK on a descriptor.
int coffer_set_nonblocking(int descriptor, int nonblocking);
/// Sets or clears O_DIRECT on a descriptor; -EINVAL if the file system does not support it.
int coffer_set_direct(int descriptor, int direct);
/// preadv2(2) with RWF_NOWAIT: the number of bytes that the page cache has at `offset`, from the first on; 0 at the
/// end of the file; or -errno, -EAGAIN if a read would wait for the disk.
ssize_t coffer_read_at_hand(int descriptor, void *buffer, size_t count, off_t offset);
/// FS_IOC_SETFLAGS: sets or clears FS_IMMUTABLE_FL.
int coffer_set_immutable(int descriptor, int immutable);
/// FS_IOC_GETFLAGS: whether FS_IMMUTABLE_FL is set.
int coffer_is_immutable(int descriptor);
/// fsetxattr(2): sets an attribute that only root can see, without a value.
int coffer_set_mark(int descriptor, const char *name);
/// fgetxattr(2): whether an attribute is set.
int coffer_has_mark(int descriptor, const char *name);
/// getxattr(2): whether the file at a path has an attribute.
int coffer_path_has_mark(const char *path, const char *name);
/// fgetxattr(2): the number of bytes of an attribute that it has stored in `buffer`, or -errno.
ssize_t coffer_get_attribute(int descriptor, const char *name, void *buffer, size_t count);
/// The two parts of a device number: makedev(3), whose macros Swift cannot import.
uint32_t coffer_device_major(dev_t device);
uint32_t coffer_device_minor(dev_t device);
/// syncfs(2).
int coffer_sync_file_system(int descriptor);
/// syncfs(2) of the file system with this device number that is mounted at `path`, as seen by a process whose
/// root directory is `root`; follows no symbolic links below `root`. -EXDEV if something else is there.
int coffer_sync_mounted_file_system(const char *root, const char *path, uint32_t major, uint32_t minor);

// Clocks.c

/// Nanoseconds of CLOCK_BOOTTIME, which runs through suspend and cannot be set.
int64_t coffer_boot_time_ns(void);
/// Nanoseconds of CLOCK_REALTIME since 1970.
int64_t coffer_real_time_ns(void);
/// Nanoseconds since 1970 with which the kernel would stamp a file now: not earlier than any stamp that it
/// has given on any file system, and not later than any that it will give.
int64_t coffer_file_time_ns(void);
/// Nanoseconds of CLOCK_MONOTONIC.
int64_t coffer_monotonic_time_ns(void);

// Memory.c

/// prctl(PR_SET_DUMPABLE, 0) and RLIMIT_CORE 0.
int coffer_forbid_core_dumps(void);
/// Maps zeroed memory that begins at a huge page (2 MiB) and uses such pages as far as it fills them; returns
/// NULL if there is no memory. `length` is a multiple of the page size. To be freed with munmap(2).
void *coffer_map_huge_pages(size_t length);
/// madvise(2) with MADV_DONTDUMP and MADV_WIPEONFORK, for memory that holds plaintext; a hint.
void coffer_advise_private(void *start, size_t length);

// Processes.c

/// Starts a program, in a session of its own unless `new_session` is 0: standard input and output are
/// /dev/null, standard error is inherited, `descriptors[i]` becomes 3 + i. Returns its process id, or -errno.
int coffer_spawn_detached(const char *path, char *const *arguments, const int *descriptors, int count,
                          int new_session);
/// Starts a program found in PATH in a session of its own, with three descriptors as its standard streams and no
/// others. Returns its process id, or -errno.
int coffer_spawn_piped(const char *name, char *const *arguments, char *const *environment, const int *streams);
/// Whether a child that leads a process group has ended; then the rest of its group is killed, and it is reaped.
/// With `at_once`, kills the group first.
int coffer_end_group(pid_t child, int at_once);
/// pipe2(2) with O_CLOEXEC: the end that is read, and the one that is written.
int coffer_make_pipe(int *ends);
/// execve(2): replaces this process, and closes all descriptors above 2 except the given ones.
int coffer_replace(const char *path, char *const *arguments, const int *descriptors, int count);
/// memfd_create(2) with MFD_CLOEXEC.
int coffer_make_memory_file(const char *name);
/// The variables of this process, as "NAME=VALUE", up to a null pointer.
char *const *coffer_environment(void);
/// Runs a program found in PATH, with /dev/null as standard input and output; returns its exit status, 128 if
/// a signal ended it, or -errno.
int coffer_run(const char *name, char *const *arguments);
/// The path of the user's home directory, from getpwuid(3), or NULL.
const char *coffer_home_directory(void);

// Signals.c

/// Waits for SIGTERM, SIGINT, or SIGHUP, all of which must be blocked; returns the signal.
int coffer_wait_for_signal(void);
/// Blocks SIGTERM, SIGINT, and SIGHUP in this thread and those that it starts; ignores SIGPIPE.
void coffer_block_signals(void);
/// write(2), but a pipe or socket that nobody reads any more makes it fail with EPIPE only, without SIGPIPE.
/// Sets errno.
ssize_t coffer_write_quietly(int descriptor, const void *bytes, size_t count);

// Sockets.c

/// The user at the other end of a Unix socket (SO_PEERCRED), or -errno.
int64_t coffer_peer_user(int socket);
/// Creates a Unix socket of mode 0600, binds it, and listens; returns its descriptor, or -errno.
int coffer_listen(const char *path);
/// Connects to a Unix socket; returns a descriptor, or -errno.
int coffer_connect(const char *path);
/// Sends a descriptor over a Unix socket, with one byte; returns 0 or -errno.
int coffer_send_descriptor(int socket, int descriptor);
/// Receives a descriptor and its byte; returns it, or -errno, and -EBADMSG if none came, or several did.
int coffer_receive_descriptor(int socket);
/// Binds a TCP socket to an address, all addresses of the machine if `host` is empty, and listens; sets `port`
/// to its port. Returns its descriptor, or -errno; -EADDRNOTAVAIL if there is no such address.
int coffer_listen_tcp(const char *host, const char *port_text, uint16_t *port);
/// Connects to a TCP address, and waits for at most `milliseconds` for each of the host's addresses; returns a
/// descriptor, or -errno; -EHOSTUNREACH if the host is unknown.
int coffer_connect_tcp(const char *host, const char *port_text, int milliseconds);
/// Writes an address of this machine that others may reach, by its number from 0; -ENOENT after the last one.
int coffer_own_address(int number, char *text, size_t size);
/// Sends one datagram to the Unix socket at `path`; if that begins with “@”, to that name in the abstract
/// namespace.
int coffer_send_datagram(const char *path, const char *text, size_t length);
/// accept4(2) with SOCK_CLOEXEC.
int coffer_accept(int socket);
/// shutdown(2) of both directions.
void coffer_shut_down(int socket);

// Reads.c

/// eventfd(2), nonblocking: a descriptor that is readable once eight bytes have been written to it.
int coffer_open_event(void);
/// io_setup(2) for `count` reads at a time.
int coffer_reads_open(unsigned long *context, int count);
/// io_destroy(2).
void coffer_reads_close(unsigned long context);
/// io_submit(2) of one read; the kernel owns the buffer until `coffer_reads_wait` or `coffer_reads_next` has
/// returned this read. `number` identifies it; its end makes `event`, an eventfd(2), readable, unless that is
/// -1.
int coffer_reads_start(unsigned long context, int descriptor, void *buffer, size_t count, off_t offset,
                       uint64_t number, int event);
/// io_getevents(2): waits for the only read, for the first `spin` nanoseconds without sleeping, and sets
/// `slept` to 1 if it had to sleep; returns the bytes read, or -errno.
long coffer_reads_wait(unsigned long context, int64_t spin, int *slept);
/// io_getevents(2): sets `number` and `count` to the number of a read that has ended and the bytes read, or
/// -errno, and returns 1; returns 0 if none has ended, unless `waits` is set.
int coffer_reads_next(unsigned long context, int waits, uint64_t *number, int64_t *count);

// Threads.c

/// pthread_setname_np(3).
void coffer_name_thread(unsigned long thread, const char *name);
/// prctl(PR_SET_NAME): the name that ps(1) shows. A program that was started through /proc/self/exe is
/// otherwise named "exe".
void coffer_name_process(const char *name);
/// The ranks of the locks that the calling thread holds, a bit for each; only debug builds keep it.
uint64_t coffer_held_lock_ranks(void);
void coffer_set_held_lock_ranks(uint64_t ranks);
/// Whether the calling thread leaves work that would wait for the disk to others (CofferSystem/LeavingWaits.swift).
int coffer_leaves_waiting(void);
void coffer_set_leaves_waiting(int value);

// Terminal.c

/// ioctl(TIOCGWINSZ): columns of the terminal, or 0.
int coffer_terminal_columns(int descriptor);
/// syslog(3), facility daemon, with a level such as LOG_WARNING.
void coffer_log(int level, const char *text);
