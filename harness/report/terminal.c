#include "report/terminal.h"

#include <math.h>
#include <sys/ioctl.h>

bool terminal_is(int fd)
{
    const char *kind = getenv("TERM");

    return isatty(fd) && (!kind || strcmp(kind, "dumb") != 0);
}

bool terminal_colours(int fd)
{
    const char *unwanted = getenv("NO_COLOR");

    return terminal_is(fd) && !(unwanted && *unwanted);
}

void terminal_size(int fd, size_t *columns, size_t *lines)
{
    struct winsize size = {0}; // stays so if this is no terminal

    ioctl(fd, TIOCGWINSZ, &size);
    *columns = size.ws_col ? size.ws_col : 80;
    *lines = size.ws_row ? size.ws_row : 24;
}

void terminal_bar(char *out, size_t size, double share, int width)
{
    int done = (int)(fmax(0, fmin(share, 1)) * width);

    snprintf(out, size, " [%.*s%.*s]", done, "####################", width - done,
        "....................");
}

// Returns the length in bytes of the first `columns` characters, or of all if there are fewer;
// *used is their number. In UTF-8, every byte of a character but its first begins with the bits 10.
static size_t bytes_of(const char *text, size_t columns, size_t *used)
{
    size_t i = 0;

    for (*used = 0; text[i]; i++) {
        bool begins = ((unsigned char)text[i] & 0xC0) != 0x80;
        if (begins && *used == columns)
            break;
        *used += begins;
    }
    return i;
}

void terminal_put(struct terminal_line *l, const char *colour, size_t width, const char *text)
{
    size_t room = l->room - l->used, used;
    size_t bytes = bytes_of(text, width && width < room ? width : room, &used);

    if (colour && l->colours)
        buf_printf(l->out, "\x1b[%sm", colour);
    buf_append(l->out, text, bytes);
    if (colour && l->colours)
        buf_append_str(l->out, "\x1b[0m");
    for (; used < width && used < room; used++)
        buf_append_char(l->out, ' ');
    l->used += used;
}
