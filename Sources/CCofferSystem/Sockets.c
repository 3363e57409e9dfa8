#define _GNU_SOURCE
#include "CCofferSystem.h"
#include "Result.h"
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
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
    // The file gets the mode of the socket. A umask would be that of all threads.
    if (fchmod(descriptor, 0600) == -1 || bind(descriptor, (struct sockaddr *)&address, sizeof address) == -1 ||
        listen(descriptor, 16) == -1) {
        int error = errno;
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

int coffer_send_descriptor(int socket, int descriptor) {
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    char byte = 0;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    memset(&control, 0, sizeof control);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    ssize_t count;
    do count = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (count == -1 && errno == EINTR);
    return count == -1 ? -errno : 0;
}

/// Closes all descriptors that came with a message.
static void close_received(struct msghdr *message) {
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        for (size_t offset = 0; CMSG_LEN(offset + sizeof(int)) <= header->cmsg_len; offset += sizeof(int)) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(header) + offset, sizeof descriptor);
            close(descriptor);
        }
    }
}

int coffer_receive_descriptor(int socket) {
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    char byte;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    // CMSG_SPACE has padding, in which the kernel would put a second descriptor.
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = CMSG_LEN(sizeof(int))};
    memset(&control, 0, sizeof control);
    ssize_t count;
    do count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (count == -1 && errno == EINTR);
    if (count == -1) return -errno;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (count == 0 || message.msg_flags & MSG_CTRUNC || !header || header->cmsg_level != SOL_SOCKET ||
        header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(int))) {
        close_received(&message);
        return -EBADMSG;
    }
    int descriptor;
    memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return descriptor;
}

/// Finds the addresses of a host, or those to listen on.
static struct addrinfo *addresses(const char *host, const char *port, int flags) {
    struct addrinfo hints, *found = NULL;
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    return getaddrinfo(*host ? host : NULL, port, &hints, &found) == 0 ? found : NULL;
}

static int listen_at(const struct addrinfo *address) {
    int descriptor = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor == -1) return -errno;
    int on = 1, off = 0;
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->ai_family == AF_INET6) setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(descriptor, address->ai_addr, address->ai_addrlen) == 0 && listen(descriptor, 4) == 0) {
        return descriptor;
    }
    int error = errno;
    close(descriptor);
    return -error;
}

int coffer_listen_tcp(const char *host, const char *port_text, uint16_t *port) {
    // An IPv6 socket for all addresses takes IPv4 connections as well.
    struct addrinfo *all = addresses(*host ? host : "::", port_text, AI_PASSIVE);
    int descriptor = -EADDRNOTAVAIL;
    for (struct addrinfo *one = all; one && descriptor < 0; one = one->ai_next) descriptor = listen_at(one);
    if (all) freeaddrinfo(all);
    if (descriptor < 0 && !*host) {
        // A kernel without IPv6.
        all = addresses("0.0.0.0", port_text, AI_PASSIVE);
        if (all) descriptor = listen_at(all);
        if (all) freeaddrinfo(all);
    }
    if (descriptor < 0) return descriptor;
    struct sockaddr_storage bound;
    socklen_t length = sizeof bound;
    if (getsockname(descriptor, (struct sockaddr *)&bound, &length) == -1) {
        int error = errno;
        close(descriptor);
        return -error;
    }
    *port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                              : ((struct sockaddr_in *)&bound)->sin_port);
    return descriptor;
}

static int connect_to(const struct addrinfo *address, int milliseconds) {
    int descriptor = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor == -1) return -errno;
    int error = connect(descriptor, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
        struct pollfd ready = {.fd = descriptor, .events = POLLOUT};
        int count = poll(&ready, 1, milliseconds);
        socklen_t length = sizeof error;
        if (count == 0) error = ETIMEDOUT;
        else if (count < 0 || getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == -1) error = errno;
    }
    if (error == 0) error = -coffer_set_nonblocking(descriptor, 0);
    if (error == 0) return descriptor;
    close(descriptor);
    return -error;
}

int coffer_connect_tcp(const char *host, const char *port_text, int milliseconds) {
    struct addrinfo *all = addresses(host, port_text, 0);
    int descriptor = -EHOSTUNREACH;
    for (struct addrinfo *one = all; one && descriptor < 0; one = one->ai_next) {
        descriptor = connect_to(one, milliseconds);
    }
    if (all) freeaddrinfo(all);
    return descriptor;
}

int coffer_own_address(int number, char *text, size_t size) {
    struct ifaddrs *all;
    if (getifaddrs(&all) == -1) return -errno;
    int found = -ENOENT;
    for (struct ifaddrs *one = all; one && found < 0; one = one->ifa_next) {
        if (!one->ifa_addr || !(one->ifa_flags & IFF_UP) || one->ifa_flags & IFF_LOOPBACK) continue;
        const void *bytes;
        if (one->ifa_addr->sa_family == AF_INET) {
            bytes = &((struct sockaddr_in *)one->ifa_addr)->sin_addr;
        } else if (one->ifa_addr->sa_family == AF_INET6) {
            bytes = &((struct sockaddr_in6 *)one->ifa_addr)->sin6_addr;
            // A link-local address is of no use without the name of an interface.
            if (IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)bytes)) continue;
        } else {
            continue;
        }
        if (number-- > 0) continue;
        found = inet_ntop(one->ifa_addr->sa_family, bytes, text, (socklen_t)size) ? 0 : -errno;
    }
    freeifaddrs(all);
    return found;
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
