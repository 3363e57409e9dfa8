#define _GNU_SOURCE
#include "CCofferSystem.h"
#include "Result.h"
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

int coffer_forbid_core_dumps(void) {
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) == -1) return -errno;
    return result(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}

void *coffer_map_huge_pages(size_t length) {
    const size_t huge = 2 << 20;
    char *map = mmap(NULL, length + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return NULL;
    char *start = (char *)(((uintptr_t)map + huge - 1) & ~(uintptr_t)(huge - 1));
    if (start > map) munmap(map, (size_t)(start - map));
    munmap(start + length, (size_t)(map + huge - start));
    // A hint. An end that does not fill a huge page would otherwise take up a whole one.
    madvise(start, length & ~(huge - 1), MADV_HUGEPAGE);
    return start;
}

void coffer_advise_private(void *start, size_t length) {
    madvise(start, length, MADV_DONTDUMP);
    madvise(start, length, MADV_WIPEONFORK);
}
