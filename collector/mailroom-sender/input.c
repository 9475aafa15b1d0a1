#include "mailroom-sender/input.h"

#include <poll.h>

#define LINE_MAX_BYTES ((size_t)256 * 1024 * 1024)
#define PIECE 65536

void input_init(struct input *in, int fd, int stop_fd)
{
    *in = (struct input){.fd = fd, .stop_fd = stop_fd};
    buf_init(&in->data, LINE_MAX_BYTES);
}

void input_fini(struct input *in)
{
    buf_fini(&in->data);
}

bool input_waiting(const struct input *in)
{
    struct pollfd p = {.fd = in->fd, .events = POLLIN};
    size_t left = in->data.len - in->taken;

    if (left > 0 && memchr(in->data.data + in->taken, '\n', left))
        return true;
    return poll(&p, 1, 0) > 0;
}

// Waits for data, for the end of the input, or for stop_fd. False: stop_fd can be read.
static bool wait_for_data(const struct input *in)
{
    struct pollfd p[] = {
        {.fd = in->fd, .events = POLLIN},
        {.fd = in->stop_fd, .events = POLLIN},
    };

    while (poll(p, 2, -1) < 0 && errno == EINTR)
        ;
    return !p[1].revents;
}

// Waits for more bytes and reads them. INPUT_LINE: some came, which need not be a whole line.
static enum input_result read_more(struct input *in, struct err *e)
{
    bool fits = in->data.len + PIECE <= LINE_MAX_BYTES;
    char *room = buf_reserve(&in->data, PIECE);

    if (!room) {
        if (fits)
            (void)err_memory(e);
        else
            err_set(e, ERR_SYSTEM, "a line is longer than %zu bytes", LINE_MAX_BYTES);
        return INPUT_FAILED;
    }
    if (!wait_for_data(in))
        return INPUT_INTERRUPTED;
    ssize_t n = read(in->fd, room, PIECE);
    if (n < 0) {
        err_sys(e, ERR_SYSTEM, "standard input cannot be read");
        return INPUT_FAILED;
    }
    in->data.len += (size_t)n;
    return n > 0 ? INPUT_LINE : INPUT_END;
}

enum input_result input_next(struct input *in, const char **line, size_t *len, struct err *e)
{
    enum input_result result;

    // The last line is dropped only now, because the caller had a pointer into it.
    if (in->taken > 0)
        buf_consume(&in->data, in->taken);
    in->taken = in->scanned = 0;
    for (;;) {
        size_t left = in->data.len - in->scanned;
        const char *end = left > 0 ? memchr(in->data.data + in->scanned, '\n', left) : NULL;
        if (end) {
            *line = in->data.data;
            *len = (size_t)(end - in->data.data);
            in->taken = *len + 1;
            return INPUT_LINE;
        }
        // A long line comes in many pieces, and none is searched twice.
        in->scanned = in->data.len;
        if ((result = read_more(in, e)) != INPUT_LINE)
            return result;
    }
}
