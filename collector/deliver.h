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
    int held_up; // lines in a row that were late before they were begun
    struct pass {
        enum pass_step {
            PASS_NONE,
            PASS_DUE,  // to be sent
            PASS_SENT, // an answer is awaited
            PASS_DONE,
        } step;
        enum pass_subject {
            PASS_NEXT,    // none of its tokens can be sent
            PASS_WRITTEN, // its line is out
        } subject;
        struct batch written; // its line is out, and its pass is not confirmed
        int64_t retry_at_ns;
    } pass;
};

struct collector;

bool deliver_init(struct collector *c, int output_fd, struct err *e) MUST_USE;
void deliver_fini(struct collector *c);

bool deliver_write(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool deliver_stall(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool deliver_pass(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool deliver_on_pass(struct collector *c, const PGresult *result, struct err *e) MUST_USE;

// Some bytes of a line are out, perhaps all; it has to be finished.
bool deliver_begun(const struct collector *c);
// A whole line is out, and the database does not know yet.
bool deliver_owes(const struct collector *c);
// The session was lost: drops the line in hand if it was not begun. The tokens of a line that is
// out come into doubt.
bool deliver_lose(struct collector *c, struct err *e) MUST_USE;

struct pollfd deliver_poll(const struct collector *c); // to wait for the reader
void deliver_give_back_memory(struct collector *c);    // while there is no batch in hand
void deliver_validate(const struct collector *c);
