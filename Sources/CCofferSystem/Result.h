#pragma once
#include <errno.h>

/// What a system call returned, or -errno.
static inline int result(int value) { return value == -1 ? -errno : value; }
