#define _GNU_SOURCE
#include "CCofferSystem.h"
#include <sys/ioctl.h>
#include <termios.h>

int coffer_terminal_columns(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == -1 ? 0 : size.ws_col;
}
