// Files in memory: nodes, and the names that lead to them.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum { piece_size = 1 << 16 };

struct node {
    struct stat status;
    // What the kernel knows of it.
    uint64_t references;
    // A regular file's content in pieces; NULL where nothing was written. A single piece may be shorter.
    char **pieces;
    size_t piece_count, first_piece_size;
    // A symlink's target.
    char *target;
    // A directory's names, oldest first.
    struct name *first, *last;
    struct node *parent;
};

struct name {
    struct node *directory, *node;
    // Grows from name to name, so that a listing can go on where it ended.
    uint64_t cookie;
    struct name *before, *after, *next_in_bucket;
    uint32_t hash;
    char text[];
};

// The node of an inode number of FUSE.
struct node *node_of(uint64_t inode);

// The number that FUSE knows a node by.
uint64_t number_of(const struct node *node);

// A node without a name, with the attributes of a file that is made now; NULL if memory is out.
struct node *node_make(mode_t mode, uid_t user, gid_t group);

// Frees a node that has neither names nor references.
void node_release(struct node *node);

// Sets a file's size; what is beyond is forgotten, what is new is zeros. Returns 0 or -ENOMEM.
int node_resize(struct node *node, off_t size);

// The piece that holds an offset, made if `make` says so. `room` tells how many bytes it has from there on.
char *node_piece(struct node *node, off_t offset, int make, size_t *room);

// A name, or NULL.
struct name *name_find(struct node *directory, const char *text);

// Makes a name that does not exist. Returns 0 or -ENOMEM.
int name_add(struct node *directory, const char *text, struct node *node);

// Takes a name away; its node stays.
void name_remove(struct name *name);

// The first name behind a cookie, or NULL.
struct name *name_after(struct node *directory, uint64_t cookie);

// The name that text and node are given to; the old node is returned.
struct node *name_replace(struct name *name, struct node *node);
