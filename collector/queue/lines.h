// The lines that this collector has in hand, from the take or read to the last answer. A line that
// was taken is a row of `deliveries`; one that was only read (mailroom_read) has no row. Pure.
//
// In the database a row is known by its n and a random number (the nonce), because after a
// failover the same n may be given again. The sender knows a line by its number, counted since the
// sender began; lines of an earlier sender have no number.
#pragma once

#include <libpq-fe.h>

#include "queue/doubt.h"
#include "wire/line.h"
#include "wire/sign.h"

enum line_state {
    LINE_FREE,
    LINE_TAKEN,   // its tokens were read; no byte of the line is written
    LINE_OUT,     // the line was begun; where lines are answered, answers are awaited
    LINE_WRITTEN, // the whole line is written, and is to be settled
    LINE_OVER,    // all tokens are answered or given up; kept for a while, for late answers
};

struct line_token {
    int64_t id;
    int row;                // its row in the answer to the take or read
    int number;             // the number of this attempt, from 1
    int errors;             // how many of the attempts before it were errors
    int64_t since_ns;       // since when the token waits; CLOCK_NEVER: not known
    bool skipped;           // not in the text: it cannot be sent, or an earlier session wrote it
    bool answered;          // its result was put into the outbox
    bool given_up;          // no answer to it is awaited any more, so one that comes is late
    const char *unsendable; // why the wire cannot carry it; NULL: it can
    char secret[SIGN_SECRET_LEN];
};

struct line {
    enum line_state state;
    int64_t n, nonce; // its row in `deliveries`; 0: it was only read (mailroom_read), not taken
    struct buf place; // if it was only read: where the cursor goes when it is settled
    int64_t number;   // its number for the sender; 0: none
    int64_t order;    // its place in the order of taking
    int64_t asked_ns; // when the take or read was sent
    int64_t out_ns;   // when it was begun
    bool alone;       // its single token may have killed senders (answers.c): it goes out alone
    bool has_rest;    // its row in `deliveries` has tokens that are not in the line, and is not yet
                      // one of the rows to read again (struct reread)
    bool settling;    // the request that settles it is under way
    bool none_after;  // it was the last line of a take or read that left no token over
    int reason;       // the meter of the reason for which it goes out
    struct shared_answer *answer; // the answer that it was made of; NULL once its text is made
    struct buf text;
    struct line_token *tokens; // owned, in the order of the rows
    int room, count;           // how many tokens `tokens` can hold, and holds
    int sendable;              // how many tokens are written in the line
    int left;                  // how many of the written tokens have no answer
};

// A row of `deliveries` that is ours, and whose tokens are to be read again.
struct reread {
    int64_t n, nonce;
};

struct lines {
    struct line *all; // owned
    int count, limit;
    int64_t last_order;     // the `order` of the line that was taken last
    struct reread *rereads; // owned, sorted by n
    int reread_count, reread_room;
};

// Makes room for `count` lines of up to `limit` tokens each.
bool lines_init(struct lines *l, int count, int limit, struct err *e) MUST_USE;
void lines_fini(struct lines *l); // accepts a zeroed struct

// Makes lines of the answer to a take or read, and takes over the answer. Among its first `rows`
// rows, each whose kind is a token's action is a token of a line; the columns are those of
// sql/lines.sql. Tokens in `doubt` are skipped. Returns false if the server breaks the protocol, or
// there is no memory.
bool lines_add_answer(struct lines *l, PGresult *result, int rows, int64_t asked_ns,
    const struct doubt *doubt, struct err *e) MUST_USE;

// Makes the text of a line that was taken, and ends its use of the answer.
bool lines_build(struct line *line, struct sign *sign, struct err *e) MUST_USE;

// lines_drop forgets a line. lines_add_reread notes that a row is to be read again.
// lines_drop_to_reread does both: it forgets the line, and notes its row, if it has one.
void lines_drop(struct line *line);
bool lines_drop_to_reread(struct lines *l, struct line *line, struct err *e) MUST_USE;
bool lines_add_reread(struct lines *l, int64_t n, int64_t nonce, struct err *e) MUST_USE;
// Call lines_forget_reread when a row was read again, and lines_forget_first_rereads when the first
// `count` rows that were to be read again are gone.
void lines_forget_reread(struct lines *l, int64_t n);
void lines_forget_first_rereads(struct lines *l, int count);

// lines_in counts the lines in a state. lines_first returns the line in that state that was taken
// first; NULL: none is in it. Lines go out in the order in which they were taken, so the first that
// is out was also begun first.
int lines_in(const struct lines *l, enum line_state state);
struct line *lines_first(const struct lines *l, enum line_state state);
// True when a line that is over had only a part of its row, and the row is not yet one of those to
// be read again.
bool lines_left_rest(const struct lines *l);
// Returns the line that was taken last, of those that are taken, out or written; NULL: none.
struct line *lines_newest(const struct lines *l);
// True when a line that is not over has this row.
bool lines_knows(const struct lines *l, int64_t n, int64_t nonce);

// Returns the line that the sender knows by this number, if it is out or over; NULL: none.
struct line *lines_find(const struct lines *l, int64_t number);
bool lines_alone_out(const struct lines *l); // true when a line with `alone` is out

// Marks a token as answered, and its line as over if this was its last token without an answer.
void lines_answer(struct line *line, struct line_token *token);
void lines_forget_numbers(struct lines *l); // call it when the sender has ended

// Frees the memory that free lines keep for later use.
void lines_give_back_memory(struct lines *l);

void lines_validate(const struct lines *l); // asserts what holds between two calls
