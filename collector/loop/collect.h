// The state serve, and the end of the collector.
#pragma once

#include <poll.h>

#include "loop/state.h"

struct collector;

// Makes room for the lines in hand. output_fd and `command` are those of collector_run.
bool collect_init(
    struct collector *c, int output_fd, char *const command[], struct err *e) MUST_USE;
void collect_fini(struct collector *c);

// The step of the state serve.
bool collect_serve(struct collector *c, enum state *next, struct err *e) MUST_USE;
// Writes to the reader, and deals with its answers. Call it in every state.
bool collect_reader(struct collector *c, struct err *e) MUST_USE;
// Call it when the session was lost: drops the lines that are not begun. The next session asks what
// became of the others.
void collect_lose(struct collector *c);

// True when a line that needs no answers is out, and the database does not know that it is settled.
bool collect_unsettled(const struct collector *c);
// Goes on with the end, after TERM or an error that leaves lines without an answer. Sets *done once
// nothing is left to do, or no time is left for the database to record it.
bool collect_end(struct collector *c, bool *done, struct err *e) MUST_USE;

// The loop polls this for room in the output, or for the end of the reader.
struct pollfd collect_poll_output(const struct collector *c);
void collect_count(struct collector *c); // sets the figures that only metrics show
