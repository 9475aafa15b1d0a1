// Reads lines from a file descriptor whose reads may wait.
#pragma once

#include "base/base.h"

struct input {
    int fd;      // borrowed
    int stop_fd; // borrowed; once it can be read, input_next no longer waits
    struct buf data;
    size_t taken;   // bytes of the line that was handed out last, its line end included
    size_t scanned; // bytes that are known to hold no line end
};

void input_init(struct input *in, int fd, int stop_fd);
void input_fini(struct input *in);

// True when a line is there, or something can be read without waiting: bytes, or the end.
bool input_waiting(const struct input *in);

// INPUT_END: the input has ended, and no whole line is left. INPUT_FAILED: *e says why.
// INPUT_INTERRUPTED: stop_fd can be read.
enum input_result { INPUT_LINE, INPUT_END, INPUT_FAILED, INPUT_INTERRUPTED };

// Waits for the next line. It stays valid until the next call; its line end is not part of it.
// Bytes without a line end, which a writer that died has left, are not a line.
enum input_result input_next(struct input *in, const char **line, size_t *len, struct err *e);
