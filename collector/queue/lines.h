// The lines that this collector has in hand: rows of `deliveries`, from the take to the last
// answer. Pure.
//
// A line's name in the database is its n and, beside it, a random number: after a failover an n may
// come again. Its name for the sender is its number since the sender began; lines of an earlier
// sender have none.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "base/buf.h"
#include "base/err.h"
#include "queue/doubt.h"
#include "wire/line.h"
#include "wire/sign.h"

enum line_state {
    LINE_FREE,
    LINE_TAKEN,   // its tokens were read; no byte of it is written
    LINE_OUT,     // it was begun; where lines are answered, answers are awaited
    LINE_WRITTEN, // all of it is written; to be settled
    LINE_OVER,    // all of it is answered or given up; known for a while, for late answers
};

struct line_token {
    int64_t id;
    int row;                // of the answer to the take
    int number;             // the number of this attempt
    int errors;             // how many of the attempts before it were errors
    int64_t since_ns;       // since when it waits; CLOCK_NEVER: not known
    bool skipped;           // not in the line: it cannot be sent, or an earlier session wrote it
    bool answered;          // and its answer is in the outbox
    const char *unsendable; // why the wire cannot carry it; NULL: it can
    char secret[SIGN_SECRET_LEN];
};

struct line {
    enum line_state state;
    int64_t n, nonce; // 0: it was read, but not taken
    struct buf place; // then where the cursor goes when it is settled (mailroom_read)
    int64_t number;   // for the sender; 0: none
    int64_t order;    // its place in the order of taking
    int64_t asked_ns; // when the take was sent
    int64_t out_ns;   // when it was begun
    bool alone;       // its single token was in flight when senders died
    bool timed_out;   // its unanswered tokens were given up
    bool part;        // the row has more tokens than the line
    bool settling;    // the request that settles it is under way
    bool last;        // nothing was left behind it when it was taken
    bool built;
    int reason;          // the meter of the reason why it went out
    struct shown *shown; // the answer to the take; NULL once it is built
    struct buf text;
    struct line_token *tokens; // owned, in the order of the rows
    int room, count;
    int sendable; // how many tokens the line has
    int left;     // how many of these have no answer
};

// A row of ours whose tokens are to be read again.
struct held {
    int64_t n, nonce;
};

struct lines {
    struct line *all; // owned
    int count, limit;
    int64_t orders;    // the last `order` given
    struct held *held; // owned, by n
    int held_count, held_room;
};

// Makes room for `count` lines of up to `limit` tokens each.
bool lines_init(struct lines *l, int count, int limit, struct err *e) MUST_USE;
void lines_fini(struct lines *l); // accepts a zeroed struct

// Takes over the answer to a take. Each of its first `rows` rows with the kind 1 or 2 is a token of
// a line; the columns are those of sql/lines.sql. Returns false if the answer is not one that a
// server gives which keeps to the protocol, or there is no memory. *taken: how many lines were
// added.
bool lines_show(struct lines *l, PGresult *result, int rows, int64_t asked_ns,
    const struct doubt *doubt, int *taken, struct err *e) MUST_USE;

// Makes the text of a line that was taken.
bool lines_build(struct line *line, struct sign *sign, struct err *e) MUST_USE;

// Forgets a line. lines_hold forgets it, too, and notes that its row, if it has one, is to be read
// again.
void lines_drop(struct line *line);
bool lines_hold(struct lines *l, struct line *line, struct err *e) MUST_USE;
bool lines_hold_row(struct lines *l, int64_t n, int64_t nonce, struct err *e) MUST_USE;
void lines_unhold(struct lines *l, int64_t n);       // the row was read again
void lines_unhold_first(struct lines *l, int count); // these rows are gone

int lines_in(const struct lines *l, enum line_state state);
struct line *lines_first(const struct lines *l, enum line_state state);
struct line *lines_newest(const struct lines *l); // of those that are taken, out or written
bool lines_knows(const struct lines *l, int64_t n, int64_t nonce); // a line that is not over

// Returns the line with this number for the sender; NULL: none.
struct line *lines_find(const struct lines *l, int64_t number);
bool lines_alone(const struct lines *l); // a line is out that has `alone`

// Marks a token as answered, and its line as over if no other token of it waits for an answer.
void lines_answer(struct line *line, struct line_token *token);
struct line *lines_older(const struct lines *l, int64_t than_ns); // out, and begun before then
int64_t lines_oldest_ns(const struct lines *l);                   // CLOCK_NEVER: none is out
void lines_forget_numbers(struct lines *l);                       // the sender has ended

// Frees what lines that are free keep for the next ones.
void lines_give_back_memory(struct lines *l);

void lines_validate(const struct lines *l); // asserts what holds between two calls
