// The harness as the sender of a collector in leased mode. It answers for each token of a line on
// the collector's standard input, after a delay. The scenario's seed decides the answer for each
// token and attempt.
//
// A sender belongs to one process of the collector and dies with it. The thread
// that reads the process owns it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "scenario/scenario.h"
#include "subject/subject.h"

// The sender's present behaviour.
enum sender_mood {
    SENDER_WORKS,
    SENDER_HANGS,  // it never answers what it reads now
    SENDER_PAUSES, // its answers come later than they should
};

struct sender_due {
    int64_t at_ns;
    int64_t number;    // number of the line, counted since this process began
    uint32_t delivery; // index of the delivery in the log
    uint32_t place;    // place of the token in the line, from 1
    enum reply reply;
    bool twice, oddly; // twice: the answer is given twice; oddly: a line that is no answer comes
                       // before it
};

struct mock_sender {
    const struct scenario_sender *manner; // borrowed
    bool jobs; // answers a queue's consumer: "ok N", "fail N" and "hang N" to each "got N ATTEMPT"
    uint64_t seed;
    uint8_t *tries; // borrowed; per planned token: its attempts so far, over all senders
    size_t tokens;
    int fd;                  // the collector's standard input; -1: closed
    int64_t numbers;         // number of lines read so far
    struct sender_due *heap; // owned; a heap whose first item is due first
    size_t count;
    struct buf out; // answers that the pipe has not taken yet
};

// The answer to one attempt for a token, and the answer's delay. mock_sender_draw is pure; its
// attempts count from 0.
struct sender_reply {
    enum reply reply;
    bool twice, oddly;
    int64_t delay_ns;
};
struct sender_reply mock_sender_draw(
    const struct scenario_sender *manner, uint64_t seed, uint32_t token, unsigned attempt);

void mock_sender_init(struct mock_sender *s, const struct scenario_sender *manner, bool jobs,
    uint64_t seed, uint8_t *tries, size_t tokens);
void mock_sender_fini(struct mock_sender *s); // closes the descriptor

// Begins with a new process, and takes over the descriptor of its input.
void mock_sender_begin(struct mock_sender *s, int fd);

// Draws the answers to a line that was read. False without memory.
bool mock_sender_line(
    struct mock_sender *s, struct subject_log *log, uint32_t line, enum sender_mood mood);

// Marks the jobs whose handlers have no answer yet: their process has died, so they must come
// again.
void mock_sender_abandon(const struct mock_sender *s, struct subject_log *log);

// Gives the answers that are due, and notes in the log when it gave them. True when the sender died
// instead; then the descriptor is closed.
bool mock_sender_say(
    struct mock_sender *s, struct subject_log *log, enum sender_mood mood, int64_t now_ns);

// Returns when the next answer is due; CLOCK_NEVER: none is.
int64_t mock_sender_next_ns(const struct mock_sender *s, enum sender_mood mood);
