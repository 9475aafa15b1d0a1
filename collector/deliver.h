// Makes a line out of a batch, and moves the cursor after the line: states write, stall and pass.
// The steps in lower modules do not use it.
#pragma once

#include <poll.h>

#include "batch.h"
#include "base/buf.h"
#include "output.h"
#include "sign.h"
#include "state.h"

struct deliver {
    struct output output;
    struct sign sign;
    struct buf line;
    int held_up; // how many lines in a row were too old before they were begun
    struct pass {
        enum pass_step {
            PASS_NONE,
            PASS_DUE,  // the request is to be sent
            PASS_SENT, // the answer is awaited
            PASS_DONE,
        } step;
        enum pass_subject {
            PASS_NEXT,    // the batch fetch.next, because none of its tokens can be sent
            PASS_WRITTEN, // the batch `written`
        } subject;
        struct batch written; // the batch whose line is out, and whose pass is not confirmed
        int64_t retry_at_ns;
    } pass;
};

struct collector;

// output_fd -1: no output yet.
bool deliver_init(struct collector *c, int output_fd, struct err *e) MUST_USE;
void deliver_fini(struct collector *c);

bool deliver_write(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool deliver_stall(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool deliver_pass(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool deliver_on_pass(struct collector *c, const PGresult *result, struct err *e) MUST_USE;

// True when some bytes of a line are out, perhaps all, so that the line has to be finished.
bool deliver_begun(const struct collector *c);
// True when a whole line is out, and the database does not know it yet.
bool deliver_owes(const struct collector *c);
// The session was lost: drops the line in hand if it was not begun. The tokens of a line that is
// out come into doubt.
bool deliver_lose(struct collector *c, struct err *e) MUST_USE;

struct pollfd deliver_poll(const struct collector *c); // what to poll to wait for the reader
void deliver_give_back_memory(struct collector *c);    // may be called while no batch is in hand
void deliver_validate(const struct collector *c);
