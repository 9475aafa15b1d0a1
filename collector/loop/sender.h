// Writes lines to the sender and, where lines are answered, reads its answers. The sender is a
// child of ours, or the program that reads our output.
#pragma once

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
    bool starts; // we start the sender; else its user connected it to our standard files
    struct output output;
    struct sign sign;
    struct child child;
    struct backoff backoff;
    struct line *writing; // the line that is being written; NULL: none
    int in;               // the descriptor from which answers are read; -1: none
    struct buf input;
    int64_t last_number; // the number of the last line that went to this sender; 0: none did
    int64_t answered;    // how many tokens were answered since the start
    bool heard;          // at least one answer came
    struct retry retry;
};

struct collector;

// output_fd: where lines go, unless a command is started.
bool sender_init(struct collector *c, int output_fd, char *const command[], struct err *e) MUST_USE;
void sender_fini(struct collector *c);

bool sender_ready(const struct collector *c); // true when the output could take a line at once
// Starts the sender if that is due, and writes lines to it.
bool sender_step(struct collector *c, struct err *e) MUST_USE;
// Reads what the sender has written, and deals with its answers and its end.
bool sender_serve(struct collector *c, struct err *e) MUST_USE;
// Ends a sender that we started, if it runs still, and gives back those of its tokens that have no
// answer.
bool sender_lost(struct collector *c, struct err *e) MUST_USE;
// Gives up the output, and forgets which line is being written.
void sender_drop_output(struct collector *c);
