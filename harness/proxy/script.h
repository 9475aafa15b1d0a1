// Orders with times, from a file: "2s partition for 500ms", one a line; # begins a comment.
#pragma once

#include "proxy/console.h"

struct script_line {
    int64_t at_ns; // since the proxy's start
    struct order order;
};

struct script {
    struct script_line *lines; // owned; in the order of their times
    size_t count, next;        // next: the first that was not carried out
};

// Parses the text of a script. ERR_USAGE names the line that is wrong.
MUST_USE bool script_parse(struct script *s, const char *text, struct err *e);
// The same with the text of a file.
MUST_USE bool script_read(struct script *s, const char *path, struct err *e);
void script_fini(struct script *s);

// Returns the next order whose time has come; NULL: none yet, or none any more.
const struct order *script_due(struct script *s, int64_t since_start_ns);
