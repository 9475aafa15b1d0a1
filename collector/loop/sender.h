// Writes lines to the sender and, where lines are answered, reads its answers. The sender is a
// child of ours, or the program that reads our output.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "process/child.h"
#include "queue/lines.h"
#include "queue/outbox.h"
#include "timing/backoff.h"
#include "wire/output.h"
#include "wire/sign.h"

struct sender {
    enum sender_state {
        SENDER_AWAY,  // our child is to be started at start_at_ns
        SENDER_HERE,  // our child runs, or lines go to our standard output
        SENDER_ENDED, // no other sender will be started
    } state;
    int64_t start_at_ns;
    bool starts; // we start the sender; else it is connected to our standard output and input
    struct output output;
    struct sign sign;
    struct child child;
    struct backoff backoff;
    struct line *writing; // the line of which the output holds a part; NULL: none
    int in;               // the descriptor from which answers are read; -1: none
    struct buf input;
    int64_t numbers;  // how many lines went to this sender: the last line has this number
    int64_t answered; // how many tokens were answered since the start
    bool heard;       // at least one answer came
    struct retry retry;
};

struct collector;

// output_fd: where lines go, unless a command is started.
bool sender_init(struct collector *c, int output_fd, char *const command[], struct err *e) MUST_USE;
void sender_fini(struct collector *c);

bool sender_ready(const struct collector *c);                   // a line could be begun at once
bool sender_step(struct collector *c, struct err *e) MUST_USE;  // starts the sender, writes to it
bool sender_serve(struct collector *c, struct err *e) MUST_USE; // deals with its answers
// Gives up the lines that got no answer in time.
bool sender_time_out(struct collector *c, struct err *e) MUST_USE;
// Gives back all tokens that are out without an answer.
bool sender_return_all(struct collector *c, const char *why, struct err *e) MUST_USE;
bool sender_lost(struct collector *c, struct err *e) MUST_USE; // call it when the sender has ended
// Puts what became of a token into the outbox, and marks the token as answered.
bool sender_result(struct collector *c, struct line *line, struct line_token *t,
    enum result_kind kind, const char *text, struct err *e) MUST_USE;
