// The lines that are leased to this collector, from the database to the last
// answer (pure).
//
// A line is over when all of it was answered or nobody answered in time. It stays known for a
// while, so that a late answer can be told from a wrong one. A line's name is its number since its
// sender began; lines of an earlier sender have none.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct flight_token {
    int64_t id;
    int number; // the number of this attempt
    int errors; // how many of the attempts before it were errors
    bool answered;
};

enum flight_state {
    FLIGHT_FREE,
    FLIGHT_READY, // leased; no byte of it is written
    FLIGHT_OUT,   // begun or written; answers are awaited
    FLIGHT_OVER,  // all of it is answered, or nobody waits for its answers any more
};

struct flight_line {
    enum flight_state state;
    int64_t row;                 // the number of its row in deliveries
    int64_t number;              // its number for the sender; 0: given to an earlier sender, or not
                                 // out yet
    int64_t order;               // its place in the order of leasing
    int64_t out_ns;              // when it was begun
    bool alone;                  // it has a single token, which was in flight when senders died
    bool timed_out;              // its unanswered tokens were given up
    struct buf text;             // the whole line
    struct flight_token *tokens; // owned, `cap` of them
    int cap, count;
    int left; // how many of its tokens have no answer
};

struct flight {
    struct flight_line *lines; // owned
    int count;
    int64_t orders; // the last `order` given
};

// Makes room for `in_flight` unanswered lines of `limit` tokens each.
bool flight_init(struct flight *f, int in_flight, int limit, struct err *e) MUST_USE;
void flight_fini(struct flight *f); // accepts a zeroed struct

// Returns a new line that was leased: without tokens, FLIGHT_READY.
struct flight_line *flight_new(struct flight *f, int64_t row);

// Fails if the line has as many tokens as there is room for.
bool flight_add(struct flight_line *line, struct flight_token token, struct err *e) MUST_USE;

// Forgets a line that is not complete.
void flight_give_up(struct flight_line *line);

// Returns how many lines are in this state.
int flight_in(const struct flight *f, enum flight_state state);
// Returns the first line that is READY; NULL: none.
struct flight_line *flight_next(struct flight *f);
// Returns the line that has this number for the sender, and is OUT or OVER; NULL: none.
struct flight_line *flight_find(struct flight *f, int64_t number);
// True when a line is out that has `alone`.
bool flight_alone(const struct flight *f);

// Marks a token as answered, and its line as over if no other token of it waits for an answer.
void flight_answer(struct flight_line *line, struct flight_token *token);

// Returns the first line that is out and was begun before that time; NULL: none.
struct flight_line *flight_older(struct flight *f, int64_t than_ns);

// Returns when the first of the lines that are out was begun; CLOCK_NEVER: none is out.
int64_t flight_oldest_ns(const struct flight *f);

// The sender has ended, so its numbers are no longer valid.
void flight_forget_numbers(struct flight *f);

// Asserts what holds between two calls. `numbers` is how many lines the sender has got.
void flight_validate(const struct flight *f, int64_t numbers);
