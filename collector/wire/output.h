// Writes whole lines to a file descriptor that somebody else opened.
//
// The descriptor's flags are left alone: its open file description may be shared with a program
// that does not expect O_NONBLOCK. Instead a pipe is given at most PIPE_BUF bytes, and only when
// poll(2) says that it has room for them, so that write(2) cannot block. To a socket, send(2)
// writes with MSG_DONTWAIT. A file takes everything.
//
// SIGPIPE must be ignored. Every failure is an ERR_OUTPUT.
#pragma once

#include "base/base.h"

// OUTPUT_PIPE also stands for a terminal, and for any other device that is no disk.
enum output_kind { OUTPUT_PIPE, OUTPUT_SOCKET, OUTPUT_FILE };

struct output {
    int fd; // borrowed
    enum output_kind kind;
    const char *data; // the line that is being written, borrowed; NULL: none
    size_t len;
    size_t done;  // bytes that the kernel has accepted
    bool torn;    // the writer before us died within a line, which we must end first
    size_t ended; // how many bytes of the quote and newline that end it are written
};

// `fd` must stay open while the output is used. If the writer before us died within a line, a quote
// and a newline are written before our first line. So what was written of that line is neither
// joined to ours nor taken for a complete line. A file shows by its last byte that this has
// happened; a pipe or socket that is still open shows it by a mark (output.c), on Linux.
bool output_init(struct output *o, int fd, struct err *e) MUST_USE;

// Begins a line, without writing yet. The data must stay valid until output_idle returns true.
void output_begin(struct output *o, const char *data, size_t len);

// Forgets a line of which all or nothing is written; the caller may use its memory again.
void output_forget(struct output *o);

// Writes as much of the line as can be written without waiting.
bool output_pump(struct output *o, struct err *e) MUST_USE;

bool output_ready(const struct output *o); // something can be written without waiting
bool output_idle(const struct output *o);  // no line, or all of it is written

// Fails when the reader of a pipe or a socket has gone.
bool output_check(const struct output *o, struct err *e) MUST_USE;
