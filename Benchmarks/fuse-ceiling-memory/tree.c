#include "tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct node root = {
    .status = {.st_mode = S_IFDIR | 0755, .st_nlink = 2, .st_ino = 1}, .references = 1, .parent = &root};
static struct name **buckets;
static size_t bucket_count, name_count;
static uint64_t last_cookie = 2, last_inode = 1;

struct node *node_of(uint64_t inode)
{
    return inode == 1 ? &root : (struct node *)(uintptr_t)inode;
}

uint64_t number_of(const struct node *node)
{
    return node == &root ? 1 : (uintptr_t)node;
}

struct node *node_make(mode_t mode, uid_t user, gid_t group)
{
    struct node *node = calloc(1, sizeof *node);
    if (node == NULL) return NULL;
    node->status = (struct stat){.st_ino = ++last_inode, .st_mode = mode, .st_uid = user, .st_gid = group,
        .st_nlink = S_ISDIR(mode) ? 2 : 0, .st_blksize = 4096};
    clock_gettime(CLOCK_REALTIME, &node->status.st_mtim);
    node->status.st_atim = node->status.st_ctim = node->status.st_mtim;
    return node;
}

void node_release(struct node *node)
{
    int has_names = S_ISDIR(node->status.st_mode) ? node->status.st_nlink > 1 : node->status.st_nlink > 0;
    if (node == &root || node->references > 0 || has_names) return;
    for (size_t index = 0; index < node->piece_count; index++) free(node->pieces[index]);
    free(node->pieces);
    free(node->target);
    free(node);
}

int node_resize(struct node *node, off_t size)
{
    size_t needed = (size_t)((size + piece_size - 1) / piece_size);
    while (node->piece_count > needed) free(node->pieces[--node->piece_count]);
    if (size < node->status.st_size && node->piece_count == needed && size % piece_size != 0) {
        size_t room;
        char *rest = node_piece(node, size, 0, &room);
        if (rest != NULL) memset(rest, 0, room);
    }
    if (needed == 0) node->first_piece_size = 0;
    node->status.st_size = size;
    node->status.st_blocks = (size + 511) / 512;
    return 0;
}

// Makes room for the pointers up to one piece.
static int reach(struct node *node, size_t index)
{
    if (index < node->piece_count) return 0;
    size_t count = index + 1;
    // Powers of two, so that appending does not copy the list each time.
    size_t capacity = 1;
    while (capacity < count) capacity *= 2;
    size_t had = 1;
    while (had < node->piece_count) had *= 2;
    if (node->pieces == NULL || capacity > had) {
        char **pieces = realloc(node->pieces, capacity * sizeof *pieces);
        if (pieces == NULL) return -ENOMEM;
        node->pieces = pieces;
    }
    memset(node->pieces + node->piece_count, 0, (count - node->piece_count) * sizeof *node->pieces);
    node->piece_count = count;
    return 0;
}

char *node_piece(struct node *node, off_t offset, int make, size_t *room)
{
    size_t index = (size_t)(offset / piece_size), within = (size_t)(offset % piece_size);
    *room = piece_size - within;
    if (make && reach(node, index) < 0) return NULL;
    if (index >= node->piece_count) return NULL;
    if (make && node->pieces[index] == NULL) {
        // A small file's only piece begins small.
        size_t size = node->piece_count == 1 && within == 0 ? 4096 : piece_size;
        node->pieces[index] = calloc(1, size);
        if (node->pieces[index] == NULL) return NULL;
        if (index == 0) node->first_piece_size = size;
    }
    if (index == 0 && node->pieces[0] != NULL) {
        if (make && node->first_piece_size < piece_size && (within >= 4096 || node->piece_count > 1)) {
            char *larger = realloc(node->pieces[0], piece_size);
            if (larger == NULL) return NULL;
            memset(larger + node->first_piece_size, 0, piece_size - node->first_piece_size);
            node->pieces[0] = larger;
            node->first_piece_size = piece_size;
        }
        if (within >= node->first_piece_size) return NULL;
        *room = node->first_piece_size - within;
    }
    return node->pieces[index] == NULL ? NULL : node->pieces[index] + within;
}

// FNV-1a over the directory's address and the name.
static uint32_t hash_of(const struct node *directory, const char *text)
{
    uint64_t hash = 0xCBF29CE484222325u ^ (uintptr_t)directory;
    for (; *text != 0; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001B3u;
    return (uint32_t)(hash ^ hash >> 32);
}

static int grow(void)
{
    size_t count = bucket_count == 0 ? 4096 : bucket_count * 2;
    struct name **larger = calloc(count, sizeof *larger);
    if (larger == NULL) return -ENOMEM;
    for (size_t index = 0; index < bucket_count; index++) {
        for (struct name *name = buckets[index]; name != NULL;) {
            struct name *next = name->next_in_bucket;
            name->next_in_bucket = larger[name->hash % count];
            larger[name->hash % count] = name;
            name = next;
        }
    }
    free(buckets);
    buckets = larger;
    bucket_count = count;
    return 0;
}

struct name *name_find(struct node *directory, const char *text)
{
    if (bucket_count == 0) return NULL;
    uint32_t hash = hash_of(directory, text);
    struct name *name = buckets[hash % bucket_count];
    while (name != NULL
        && (name->hash != hash || name->directory != directory || strcmp(name->text, text) != 0))
        name = name->next_in_bucket;
    return name;
}

int name_add(struct node *directory, const char *text, struct node *node)
{
    if (name_count >= bucket_count && grow() < 0) return -ENOMEM;
    size_t length = strlen(text) + 1;
    struct name *name = malloc(sizeof *name + length);
    if (name == NULL) return -ENOMEM;
    uint32_t hash = hash_of(directory, text);
    *name = (struct name){.directory = directory, .node = node, .cookie = ++last_cookie,
        .before = directory->last, .next_in_bucket = buckets[hash % bucket_count], .hash = hash};
    memcpy(name->text, text, length);
    buckets[hash % bucket_count] = name;
    if (directory->last != NULL)
        directory->last->after = name;
    else
        directory->first = name;
    directory->last = name;
    name_count++;
    if (S_ISDIR(node->status.st_mode)) {
        node->parent = directory;
        directory->status.st_nlink++;
    } else {
        node->status.st_nlink++;
    }
    return 0;
}

static void detach(struct node *directory, struct node *node)
{
    if (S_ISDIR(node->status.st_mode)) {
        directory->status.st_nlink--;
        node->status.st_nlink = 0;
    } else {
        node->status.st_nlink--;
    }
}

// Where the last listing ended, so that the next request need not begin from the front.
static struct name *listed;

void name_remove(struct name *name)
{
    if (listed == name) listed = NULL;
    struct name **link = &buckets[name->hash % bucket_count];
    while (*link != name) link = &(*link)->next_in_bucket;
    *link = name->next_in_bucket;
    if (name->before != NULL) name->before->after = name->after; else name->directory->first = name->after;
    if (name->after != NULL) name->after->before = name->before; else name->directory->last = name->before;
    name_count--;
    detach(name->directory, name->node);
    free(name);
}

struct name *name_after(struct node *directory, uint64_t cookie)
{
    struct name *name = directory->first;
    if (listed != NULL && listed->directory == directory && listed->cookie <= cookie) name = listed;
    while (name != NULL && name->cookie <= cookie) name = name->after;
    if (name != NULL) listed = name;
    return name;
}

struct node *name_replace(struct name *name, struct node *node)
{
    struct node *old = name->node;
    detach(name->directory, old);
    name->node = node;
    if (S_ISDIR(node->status.st_mode)) {
        node->parent = name->directory;
        name->directory->status.st_nlink++;
    } else {
        node->status.st_nlink++;
    }
    return old;
}
