#include "ceiling.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// How long the loop looks for the next request before it sleeps. Waking a sleeping thread costs more than most
// requests; 40 microseconds cover the time that a program needs between two of them.
static const int64_t spin_nanoseconds = 40 * 1000;

void ceiling_init(struct fuse_conn_info *connection)
{
    connection->max_write = 1 << 20;
    connection->max_readahead = 1 << 20;
    connection->max_background = 64;
    connection->want |= connection->capable
        & (FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_READDIRPLUS | FUSE_CAP_NO_OPEN_SUPPORT
            | FUSE_CAP_NO_OPENDIR_SUPPORT | FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_ASYNC_READ);
    // Where open is never sent, O_TRUNC must come as a request of its own. Splicing costs more than it saves.
    connection->want &= ~(unsigned)(FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE
        | FUSE_CAP_SPLICE_MOVE | FUSE_CAP_READDIRPLUS_AUTO);
}

void ceiling_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file)
{
    (void)inode;
    (void)file;
    fuse_reply_err(request, ENOSYS);
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int serve(struct fuse_session *session)
{
    int descriptor = fuse_session_fd(session);
    int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0) return -errno;
    struct fuse_buf buffer = {.mem = NULL};
    int result = 0;
    // Zero: sleep at once, as long as no request has come.
    int64_t sleep_at = 0;
    while (!fuse_session_exited(session)) {
        result = fuse_session_receive_buf(session, &buffer);
        if (result > 0) {
            fuse_session_process_buf(session, &buffer);
            sleep_at = now() + spin_nanoseconds;
        } else if (result == -EAGAIN) {
            if (now() < sleep_at) continue;
            struct pollfd wait = {.fd = descriptor, .events = POLLIN};
            poll(&wait, 1, -1);
        } else if (result != -EINTR) {
            break;
        }
    }
    free(buffer.mem);
    return result == -EAGAIN || result == -EINTR ? 0 : result;
}

int ceiling_serve(const char *name, const char *mount_point, const struct fuse_lowlevel_ops *operations)
{
    char options[128];
    snprintf(options, sizeof options, "fsname=%s,subtype=%s,default_permissions", name, name);
    char *arguments[] = {(char *)name, "-o", options, NULL};
    struct fuse_args args = {.argc = 3, .argv = arguments, .allocated = 0};
    struct fuse_session *session = fuse_session_new(&args, operations, sizeof *operations, NULL);
    fuse_opt_free_args(&args);
    if (session == NULL) return 1;
    int code = 1;
    if (fuse_set_signal_handlers(session) == 0) {
        if (fuse_session_mount(session, mount_point) == 0) {
            code = serve(session) == 0 ? 0 : 1;
            fuse_session_unmount(session);
        }
        fuse_remove_signal_handlers(session);
    }
    fuse_session_destroy(session);
    return code;
}
