#define _GNU_SOURCE
#include "CCofferSystem.h"
#include "Result.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int64_t coffer_peer_user(int socket) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == -1) return -errno;
    return peer.uid;
}

static int local_address(const char *path, struct sockaddr_un *address) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address->sun_path) return -ENAMETOOLONG;
    strcpy(address->sun_path, path);
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

int coffer_listen(const char *path) {
    struct sockaddr_un address;
    int descriptor = local_address(path, &address);
    if (descriptor < 0) return descriptor == -1 ? -errno : descriptor;
    mode_t mask = umask(0177);
    int bound = bind(descriptor, (struct sockaddr *)&address, sizeof address);
    int error = errno;
    umask(mask);
    if (bound == -1 || listen(descriptor, 16) == -1) {
        error = bound == -1 ? error : errno;
        close(descriptor);
        return -error;
    }
    return descriptor;
}

int coffer_connect(const char *path) {
    struct sockaddr_un address;
    int descriptor = local_address(path, &address);
    if (descriptor < 0) return descriptor == -1 ? -errno : descriptor;
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == -1) {
        int error = errno;
        close(descriptor);
        return -error;
    }
    return descriptor;
}

int coffer_send_datagram(const char *path, const char *text, size_t length) {
    struct sockaddr_un address;
    size_t name = strlen(path);
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    if (name >= sizeof address.sun_path) return -ENAMETOOLONG;
    memcpy(address.sun_path, path, name);
    // An abstract name begins with NUL, and only the length of the address ends it; unix(7).
    if (*path == '@') address.sun_path[0] = 0;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + name + (*path != '@'));
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor == -1) return -errno;
    ssize_t sent = sendto(descriptor, text, length, MSG_NOSIGNAL, (struct sockaddr *)&address, size);
    int error = sent == -1 ? errno : (size_t)sent == length ? 0 : EMSGSIZE;
    close(descriptor);
    return -error;
}

int coffer_accept(int socket) { return result(accept4(socket, NULL, NULL, SOCK_CLOEXEC)); }

void coffer_shut_down(int socket) { shutdown(socket, SHUT_RDWR); }
