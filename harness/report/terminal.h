// What a terminal can do, and lines that fit into it.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

// It is one, and it understands cursor movements.
bool terminal_is(int fd);

// Colours are wanted: on a terminal, unless NO_COLOR says otherwise.
bool terminal_colours(int fd);

// Its size; 80 × 24 where it does not tell.
void terminal_size(int fd, size_t *columns, size_t *lines);

// A line that is not to become longer than the window is wide.
struct terminal_line {
    struct buf *out;
    size_t room, used; // columns
    bool colours;
};

// Appends as much of the text as fits, padded with blanks to `width` columns (0:
// as long as it is). The colour is an SGR code such as "32", or NULL.
void terminal_put(struct terminal_line *l, const char *colour, size_t width, const char *text);
