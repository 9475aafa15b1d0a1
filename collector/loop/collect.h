// State serve, and the end.
#pragma once

#include <poll.h>
#include <stdbool.h>

#include "base/err.h"
#include "loop/state.h"

struct collector;

bool collect_init(
    struct collector *c, int output_fd, char *const command[], struct err *e) MUST_USE;
void collect_fini(struct collector *c);

// The step of the state.
bool collect_serve(struct collector *c, enum state *next, struct err *e) MUST_USE;
// In every state: what the reader takes and answers.
bool collect_reader(struct collector *c, struct err *e) MUST_USE;
// The session was lost.
void collect_lose(struct collector *c);

bool collect_owes(const struct collector *c); // something is out, and the database does not know it
// The end: TERM, or an error that leaves lines without an answer. True once nothing is left to do.
bool collect_end(struct collector *c, bool *done, struct err *e) MUST_USE;

struct pollfd collect_poll_answers(const struct collector *c);
struct pollfd collect_poll_output(const struct collector *c);
void collect_count(struct collector *c); // what only metrics show
