#define _GNU_SOURCE
#include "CCofferSystem.h"
#include "Result.h"
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

// Not in all versions of the C library.
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

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
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
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

int coffer_replace(const char *path, char *const *arguments, const int *descriptors, int count) {
    // Those that do not close on exec otherwise, from libraries and from whoever started this process.
    // A filter of system calls may refuse this, and there is no way back: the new program then has them, too.
    (void)close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    for (int i = 0; i < count; i++)
        if (fcntl(descriptors[i], F_SETFD, 0) == -1) return -errno;
    execve(path, arguments, environ);
    return -errno;
}

int coffer_make_memory_file(const char *name) {
    // The sysctl vm.memfd_noexec=2 refuses all others; kernels before 6.3 refuse this one.
    int file = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    if (file != -1 || errno != EINVAL) return result(file);
    return result(memfd_create(name, MFD_CLOEXEC));
}

int coffer_make_pipe(int *ends) { return result(pipe2(ends, O_CLOEXEC)); }

char *const *coffer_environment(void) { return environ; }

const char *coffer_home_directory(void) {
    struct passwd *user = getpwuid(geteuid());
    return user ? user->pw_dir : NULL;
}

void coffer_log(int level, const char *text) {
    openlog("coffer", LOG_PID, LOG_DAEMON);
    syslog(level, "%s", text);
}
