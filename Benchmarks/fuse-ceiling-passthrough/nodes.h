// The files that the kernel knows, each with a descriptor.
#pragma once

#include <stdint.h>
#include <sys/stat.h>

struct node {
    // Refers to the file without opening it (O_PATH).
    int path;
    // The place in the ring of files that are open for reading and writing, or -1.
    int slot;
    uint64_t device, inode, references;
    struct node *next;
};

// Opens the directory that is shown. Returns -1 and sets errno if that fails.
int nodes_start(const char *directory);

// The node of an inode number of FUSE.
struct node *node_of(uint64_t inode);

// Finds a name's node, or makes it, and counts one more reference. Returns 0 or -errno.
int node_enter(struct node *parent, const char *name, struct node **node, struct stat *status);

// Gives references back; the node goes with the last one.
void node_forget(struct node *node, uint64_t count);

// A descriptor to read and write with, or -1. It stays open until many others were used since.
int node_open(struct node *node);

// Uses a descriptor that was opened already; the node owns it from now on.
void node_keep_open(struct node *node, int descriptor);
