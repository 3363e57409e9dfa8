#define _GNU_SOURCE
#include "nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { bucket_count = 1 << 18, open_count = 512 };

static struct node root = {.slot = -1, .references = 1};
static struct node *buckets[bucket_count];
// Opening is never asked for, so which files are in use is a guess: those that were used last.
static struct { struct node *node; int descriptor; } ring[open_count];
static int ring_next;

static struct node **bucket(uint64_t device, uint64_t inode)
{
    uint64_t hash = (inode * 0x9E3779B97F4A7C15u) ^ device;
    return &buckets[(hash >> 20) % bucket_count];
}

int nodes_start(const char *directory)
{
    root.path = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return root.path;
}

struct node *node_of(uint64_t inode)
{
    // 1 is the root's number in FUSE; others are addresses.
    return inode == 1 ? &root : (struct node *)(uintptr_t)inode;
}

int node_enter(struct node *parent, const char *name, struct node **result, struct stat *status)
{
    int path = openat(parent->path, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (path < 0) return -errno;
    if (fstatat(path, "", status, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0) {
        int code = errno;
        close(path);
        return -code;
    }
    struct node **list = bucket(status->st_dev, status->st_ino);
    for (struct node *node = *list; node != NULL; node = node->next) {
        if (node->inode == status->st_ino && node->device == status->st_dev) {
            close(path);
            node->references++;
            *result = node;
            return 0;
        }
    }
    struct node *node = malloc(sizeof *node);
    if (node == NULL) {
        close(path);
        return -ENOMEM;
    }
    *node = (struct node){.path = path, .slot = -1, .device = status->st_dev, .inode = status->st_ino,
        .references = 1, .next = *list};
    *list = node;
    *result = node;
    return 0;
}

static void close_slot(int slot)
{
    if (ring[slot].node == NULL) return;
    close(ring[slot].descriptor);
    ring[slot].node->slot = -1;
    ring[slot].node = NULL;
}

void node_forget(struct node *node, uint64_t count)
{
    if (node == &root) return;
    node->references -= count;
    if (node->references > 0) return;
    struct node **link = bucket(node->device, node->inode);
    while (*link != node) link = &(*link)->next;
    *link = node->next;
    if (node->slot >= 0) close_slot(node->slot);
    close(node->path);
    free(node);
}

void node_keep_open(struct node *node, int descriptor)
{
    if (node->slot >= 0) close_slot(node->slot);
    close_slot(ring_next);
    ring[ring_next].node = node;
    ring[ring_next].descriptor = descriptor;
    node->slot = ring_next;
    ring_next = (ring_next + 1) % open_count;
}

int node_open(struct node *node)
{
    if (node->slot >= 0) return ring[node->slot].descriptor;
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", node->path);
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    // Directories, and files that may not be written.
    if (descriptor < 0) descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) node_keep_open(node, descriptor);
    return descriptor;
}
