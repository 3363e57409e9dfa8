#define _GNU_SOURCE
#include "CCofferSystem.h"
#include "Result.h"
#include <errno.h>
#include <linux/aio_abi.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int coffer_open_event(void) { return result(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

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
    int64_t deadline = spin > 0 ? coffer_monotonic_time_ns() + spin : 0;
    for (;;) {
        int sleeps = spin <= 0 || coffer_monotonic_time_ns() >= deadline;
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
