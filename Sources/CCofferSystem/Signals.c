#define _GNU_SOURCE
#include "CCofferSystem.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static void ending_signals(sigset_t *set) {
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
}

int coffer_wait_for_signal(void) {
    sigset_t set;
    int signal = 0;
    ending_signals(&set);
    while (sigwait(&set, &signal) != 0) {}
    return signal;
}

void coffer_block_signals(void) {
    sigset_t set;
    ending_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

ssize_t coffer_write_quietly(int descriptor, const void *bytes, size_t count) {
    sigset_t pipe, before, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    ssize_t written = write(descriptor, bytes, count);
    int error = errno;
    // The signal also comes if the reader goes in the middle of a write, which then returns what it has written. One that
    // was pending before is somebody else's.
    int is_cut = written == -1 ? error == EPIPE : (size_t)written < count;
    if (is_cut && !sigismember(&pending, SIGPIPE)) {
        struct timespec now = {0, 0};
        while (sigtimedwait(&pipe, NULL, &now) == -1 && errno == EINTR) {}
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}
