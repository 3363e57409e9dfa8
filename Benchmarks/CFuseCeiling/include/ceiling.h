// What both ceilings share: how they ask the kernel for as much as it gives, and the loop that serves it.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

// Attributes and names are valid until the filesystem itself changes them: nobody else does.
#define CEILING_TIMEOUT 86400.0

// Sets what the kernel may do. To be called from the filesystem's own init.
void ceiling_init(struct fuse_conn_info *connection);

// Answers open and opendir with ENOSYS, so that the kernel stops sending them.
void ceiling_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file);

// Mounts on the last argument and serves until it is unmounted or a signal ends it.
// Returns the exit code.
int ceiling_serve(const char *name, const char *mount_point, const struct fuse_lowlevel_ops *operations);
