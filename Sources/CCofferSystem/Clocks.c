#define _GNU_SOURCE
#include "CCofferSystem.h"
#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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
