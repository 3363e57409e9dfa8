// A filesystem in memory that does as little as it can: what FUSE itself can reach.
//
//     fuse-ceiling-memory MOUNTPOINT
#include "ceiling.h"
#include "tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

static void init(void *data, struct fuse_conn_info *connection)
{
    (void)data;
    ceiling_init(connection);
}

static void touch(struct node *node)
{
    clock_gettime(CLOCK_REALTIME, &node->status.st_mtim);
    node->status.st_ctim = node->status.st_mtim;
}

static struct fuse_entry_param entry_for(struct node *node)
{
    node->references++;
    return (struct fuse_entry_param){.ino = number_of(node), .attr = node->status,
        .attr_timeout = CEILING_TIMEOUT, .entry_timeout = CEILING_TIMEOUT};
}

static void lookup(fuse_req_t request, fuse_ino_t parent, const char *text)
{
    struct name *name = name_find(node_of(parent), text);
    struct fuse_entry_param none = {.entry_timeout = CEILING_TIMEOUT};
    struct fuse_entry_param entry = name == NULL ? none : entry_for(name->node);
    fuse_reply_entry(request, &entry);
}

static void drop(fuse_ino_t inode, uint64_t count)
{
    struct node *node = node_of(inode);
    node->references -= count;
    node_release(node);
}

static void forget(fuse_req_t request, fuse_ino_t inode, uint64_t count)
{
    drop(inode, count);
    fuse_reply_none(request);
}

static void forget_many(fuse_req_t request, size_t count, struct fuse_forget_data *list)
{
    for (size_t index = 0; index < count; index++) drop(list[index].ino, list[index].nlookup);
    fuse_reply_none(request);
}

static void attributes(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file)
{
    (void)file;
    fuse_reply_attr(request, &node_of(inode)->status, CEILING_TIMEOUT);
}

static void set_attributes(
    fuse_req_t request, fuse_ino_t inode, struct stat *to, int which, struct fuse_file_info *file)
{
    struct node *node = node_of(inode);
    struct stat *status = &node->status;
    if (which & FUSE_SET_ATTR_MODE) status->st_mode = (status->st_mode & S_IFMT) | (to->st_mode & ~S_IFMT);
    if (which & FUSE_SET_ATTR_UID) status->st_uid = to->st_uid;
    if (which & FUSE_SET_ATTR_GID) status->st_gid = to->st_gid;
    if (which & FUSE_SET_ATTR_SIZE) node_resize(node, to->st_size);
    clock_gettime(CLOCK_REALTIME, &status->st_ctim);
    if (which & FUSE_SET_ATTR_ATIME) status->st_atim = to->st_atim;
    if (which & FUSE_SET_ATTR_MTIME) status->st_mtim = to->st_mtim;
    if (which & FUSE_SET_ATTR_ATIME_NOW) status->st_atim = status->st_ctim;
    if (which & FUSE_SET_ATTR_MTIME_NOW) status->st_mtim = status->st_ctim;
    attributes(request, inode, file);
}

// Makes a node with a name. Answers the error and returns NULL if that does not work.
static struct node *make(fuse_req_t request, fuse_ino_t parent, const char *text, mode_t mode)
{
    struct node *directory = node_of(parent);
    const struct fuse_ctx *who = fuse_req_ctx(request);
    int code = 0;
    struct node *node = NULL;
    if (name_find(directory, text) != NULL)
        code = EEXIST;
    else if ((node = node_make(mode, who->uid, who->gid)) == NULL || name_add(directory, text, node) < 0)
        code = ENOMEM;
    if (code != 0) {
        fuse_reply_err(request, code);
        return NULL;
    }
    touch(directory);
    return node;
}

static void make_directory(fuse_req_t request, fuse_ino_t parent, const char *text, mode_t mode)
{
    struct node *node = make(request, parent, text, S_IFDIR | (mode & 07777));
    if (node == NULL) return;
    struct fuse_entry_param entry = entry_for(node);
    fuse_reply_entry(request, &entry);
}

static void make_link(fuse_req_t request, const char *target, fuse_ino_t parent, const char *text)
{
    struct node *node = make(request, parent, text, S_IFLNK | 0777);
    if (node == NULL) return;
    node->target = strdup(target);
    node->status.st_size = (off_t)strlen(target);
    struct fuse_entry_param entry = entry_for(node);
    fuse_reply_entry(request, &entry);
}

static void read_link(fuse_req_t request, fuse_ino_t inode)
{
    fuse_reply_readlink(request, node_of(inode)->target);
}

static void create(
    fuse_req_t request, fuse_ino_t parent, const char *text, mode_t mode, struct fuse_file_info *file)
{
    struct node *node = make(request, parent, text, S_IFREG | (mode & 07777));
    if (node == NULL) return;
    struct fuse_entry_param entry = entry_for(node);
    fuse_reply_create(request, &entry, file);
}

static void link_node(fuse_req_t request, fuse_ino_t inode, fuse_ino_t parent, const char *text)
{
    struct node *node = node_of(inode);
    if (name_find(node_of(parent), text) != NULL || name_add(node_of(parent), text, node) < 0) {
        fuse_reply_err(request, EEXIST);
        return;
    }
    struct fuse_entry_param entry = entry_for(node);
    fuse_reply_entry(request, &entry);
}

static void remove_name(fuse_req_t request, fuse_ino_t parent, const char *text)
{
    struct name *name = name_find(node_of(parent), text);
    int code = 0;
    if (name == NULL) {
        code = ENOENT;
    } else if (S_ISDIR(name->node->status.st_mode) && name->node->first != NULL) {
        code = ENOTEMPTY;
    } else {
        struct node *node = name->node;
        name_remove(name);
        touch(node_of(parent));
        node_release(node);
    }
    fuse_reply_err(request, code);
}

static void move(fuse_req_t request, fuse_ino_t parent, const char *text, fuse_ino_t new_parent,
    const char *new_text, unsigned flags)
{
    struct name *name = name_find(node_of(parent), text);
    struct name *there = name_find(node_of(new_parent), new_text);
    int code = 0;
    if (name == NULL)
        code = ENOENT;
    else if (flags & ~1u)
        code = EINVAL;
    else if (there != NULL && flags & 1u)
        code = EEXIST;
    else if (there != NULL && S_ISDIR(there->node->status.st_mode) && there->node->first != NULL)
        code = ENOTEMPTY;
    if (code == 0 && name != there) {
        struct node *node = name->node, *old = NULL;
        // A reference of our own, so that the node lives while it has no name.
        node->references++;
        name_remove(name);
        if (S_ISDIR(node->status.st_mode)) node->status.st_nlink = 2;
        if (there != NULL)
            old = name_replace(there, node);
        else if (name_add(node_of(new_parent), new_text, node) < 0)
            code = ENOMEM;
        node->references--;
        if (old != NULL) node_release(old);
        touch(node_of(parent));
        touch(node_of(new_parent));
    }
    fuse_reply_err(request, code);
}

static void read_file(
    fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, struct fuse_file_info *file)
{
    (void)file;
    static const char zeros[piece_size];
    struct node *node = node_of(inode);
    struct iovec parts[64];
    int count = 0;
    off_t end = offset + (off_t)size < node->status.st_size ? offset + (off_t)size : node->status.st_size;
    while (offset < end && count < 64) {
        size_t room;
        char *piece = node_piece(node, offset, 0, &room);
        if (room > (size_t)(end - offset)) room = (size_t)(end - offset);
        parts[count].iov_base = piece == NULL ? (char *)zeros : piece;
        parts[count++].iov_len = room;
        offset += (off_t)room;
    }
    fuse_reply_iov(request, parts, count);
}

static void write_file(fuse_req_t request, fuse_ino_t inode, const char *bytes, size_t size, off_t offset,
    struct fuse_file_info *file)
{
    (void)file;
    struct node *node = node_of(inode);
    for (size_t done = 0; done < size;) {
        size_t room;
        char *piece = node_piece(node, offset + (off_t)done, 1, &room);
        if (piece == NULL) {
            fuse_reply_err(request, ENOMEM);
            return;
        }
        if (room > size - done) room = size - done;
        memcpy(piece, bytes + done, room);
        done += room;
    }
    if (offset + (off_t)size > node->status.st_size) {
        node->status.st_size = offset + (off_t)size;
        node->status.st_blocks = (node->status.st_size + 511) / 512;
    }
    touch(node);
    fuse_reply_write(request, size);
}

static void sync_file(fuse_req_t request, fuse_ino_t inode, int content_only, struct fuse_file_info *file)
{
    (void)inode;
    (void)content_only;
    (void)file;
    fuse_reply_err(request, 0);
}

static size_t add(fuse_req_t request, char *answer, size_t room, int plus, const char *text,
    struct node *node, uint64_t cookie)
{
    if (!plus) return fuse_add_direntry(request, answer, room, text, &node->status, (off_t)cookie);
    struct fuse_entry_param entry = {.attr = node->status};
    size_t needed = fuse_add_direntry_plus(request, NULL, 0, text, NULL, 0);
    // The kernel counts a reference for every name but the dots.
    if (needed <= room && strcmp(text, ".") != 0 && strcmp(text, "..") != 0) entry = entry_for(node);
    return fuse_add_direntry_plus(request, answer, room, text, &entry, (off_t)cookie);
}

static void list(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, int plus)
{
    static char *answer;
    if (answer == NULL) answer = malloc(1 << 20);
    if (size > 1 << 20) size = 1 << 20;
    struct node *directory = node_of(inode);
    size_t used = 0;
    if (offset < 1) used += add(request, answer, size, plus, ".", directory, 1);
    if (offset < 2) used += add(request, answer + used, size - used, plus, "..", directory->parent, 2);
    for (struct name *name = name_after(directory, (uint64_t)offset); name != NULL; name = name->after) {
        size_t needed = add(request, answer + used, size - used, plus, name->text, name->node, name->cookie);
        if (needed > size - used) break;
        used += needed;
    }
    fuse_reply_buf(request, answer, used);
}

static void list_names(
    fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, struct fuse_file_info *file)
{
    (void)file;
    list(request, inode, size, offset, 0);
}

static void list_plus(
    fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, struct fuse_file_info *file)
{
    (void)file;
    list(request, inode, size, offset, 1);
}

static void file_system(fuse_req_t request, fuse_ino_t inode)
{
    (void)inode;
    struct statvfs status = {.f_bsize = 4096, .f_frsize = 4096, .f_blocks = 1 << 24, .f_bfree = 1 << 24,
        .f_bavail = 1 << 24, .f_files = 1 << 24, .f_ffree = 1 << 24, .f_namemax = 255};
    fuse_reply_statfs(request, &status);
}

static const struct fuse_lowlevel_ops operations = {
    .init = init, .lookup = lookup, .forget = forget, .forget_multi = forget_many, .getattr = attributes,
    .setattr = set_attributes, .mkdir = make_directory, .symlink = make_link, .link = link_node,
    .readlink = read_link, .unlink = remove_name, .rmdir = remove_name, .rename = move, .create = create,
    .open = ceiling_open, .opendir = ceiling_open, .read = read_file, .write = write_file, .fsync = sync_file,
    .fsyncdir = sync_file, .readdir = list_names, .readdirplus = list_plus, .statfs = file_system,
};

int main(int count, char **arguments)
{
    if (count != 2) {
        fprintf(stderr, "usage: %s MOUNTPOINT\n", arguments[0]);
        return 64;
    }
    return ceiling_serve("fuse-memory", arguments[1], &operations);
}
