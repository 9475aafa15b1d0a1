// Finds out what a terminal can do, and makes bars, and lines that fit into its window.
#pragma once

#include "base/base.h"

// True when the stream is a terminal that understands cursor movements.
bool terminal_is(int fd);

// True on a terminal, unless NO_COLOR is set and not empty.
bool terminal_colours(int fd);

// Returns the window's size; 80 × 24 when the terminal does not say.
void terminal_size(int fd, size_t *columns, size_t *lines);

// Writes a bar such as " [#####....]", of which `share` (0 to 1) is filled. `width` is at most 20.
// A share beyond these ends counts as the end.
void terminal_bar(char *out, size_t size, double share, int width);

// A line that must not become wider than the window.
struct terminal_line {
    struct buf *out;
    size_t room, used; // width of the window and of the text so far, in columns
    bool colours;
};

// Appends the text, cut or padded with blanks to `width` columns (0: neither), as far as the window
// has room. The colour is an SGR code such as "32", or NULL.
void terminal_put(struct terminal_line *l, const char *colour, size_t width, const char *text);
