// Reads the sender's answers to tokens and records what became of them, for the database.
#pragma once

#include "queue/lines.h"
#include "queue/outbox.h"

#define ANSWERS_MAX ((size_t)1024 * 1024) // most bytes of answers that wait to be parsed
#define ANSWERS_ROUND ((size_t)16 * 1024) // bytes that are read before other work has its turn

struct collector;

// Reads answers and records them, but not more than about `most` bytes, because a sender may write
// faster than we read. Sets *ended at the end of the file.
bool answers_read(struct collector *c, size_t most, bool *ended, struct err *e) MUST_USE;

// Returns a result of this token, with no delay. `text`: what the history says about it.
struct outbox_result answers_result(
    const struct line *line, const struct line_token *t, enum result_kind kind, const char *text);

// Gives back all tokens that are out without an answer. died: because the sender died. why: the
// text for the history.
bool answers_give_back(struct collector *c, bool died, const char *why, struct err *e) MUST_USE;

// Gives up the lines that got no answer in time.
bool answers_time_out(struct collector *c, struct err *e) MUST_USE;
