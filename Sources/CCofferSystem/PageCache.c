#define _GNU_SOURCE
#include "CCofferSystem.h"
#include <errno.h>
#include <sys/types.h>
#include <sys/uio.h>

int coffer_is_at_hand(int descriptor, void *buffer, size_t count, off_t offset) {
    struct iovec part = {buffer, count};
    ssize_t got = preadv2(descriptor, &part, 1, offset, RWF_NOWAIT);
    // Where the file system cannot say, or the end of the file comes first, nothing is gained by asking again.
    if (got == -1) return errno != EAGAIN;
    return (size_t)got == count;
}
