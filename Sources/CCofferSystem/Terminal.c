#define _GNU_SOURCE
#include "CCofferSystem.h"
#include <sys/ioctl.h>
#include <syslog.h>
#include <termios.h>

int coffer_terminal_columns(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == -1 ? 0 : size.ws_col;
}

void coffer_log(int level, const char *text) {
    openlog("coffer", LOG_PID, LOG_DAEMON);
    syslog(level, "%s", text);
}
