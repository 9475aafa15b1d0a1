// Lines and bytes over a TCP connection between the run and its workers. Calls block for a limited
// time. A worker that is silent for longer than POST_SILENCE_NS counts as lost. Before
// that, a worker stops by itself when it has heard nothing from its run for POST_UNHEARD_NS.
//
// Fails with ERR_CONNECTION. One thread uses a post at a time.
#pragma once

#include <stddef.h>

#include "base/clock.h"
#include "base/err.h"

#define POST_LINE_MAX 1024
#define POST_SILENCE_NS (10 * NS_PER_S)
#define POST_UNHEARD_NS (5 * NS_PER_S)

struct post {
    int fd; // -1: closed
    size_t from, used;
    char bytes[16384]; // bytes that were read and not taken yet
};

void post_init(struct post *p, int fd); // owns fd from now on
void post_close(struct post *p);

// Connects to an address: "host:port", "[host]:port" or "port". The caller closes the returned
// descriptor; -1 with the reason.
MUST_USE int post_connect(const char *address, struct err *e);
MUST_USE int post_listen(const char *address, int *port, struct err *e);

MUST_USE bool post_say(struct post *p, struct err *e, const char *fmt, ...) PRINTF_LIKE(3, 4);
MUST_USE bool post_write(struct post *p, const void *bytes, size_t count, struct err *e);

// Reads a line, without its newline.
MUST_USE bool post_line(struct post *p, char line[POST_LINE_MAX], struct err *e);
MUST_USE bool post_read(struct post *p, void *bytes, size_t count, struct err *e);

// Waits for at most limit_ms. True when there is something to read, or the other side is gone.
bool post_waits(const struct post *p, int limit_ms);
