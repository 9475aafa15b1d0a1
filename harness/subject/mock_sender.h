// Plays the mail sender of a collector in leased mode. For each token of a line, it writes an
// answer to the collector's standard input, after a delay. The scenario's seed decides the answer
// for each token and attempt.
//
// A sender serves one process of the collector at a time; mock_sender_begin starts it anew for the
// next process. It is owned by the thread that reads the process's output.
#pragma once

#include "scenario/scenario.h"
#include "subject/subject.h"

// How the sender behaves at the moment.
enum sender_mood {
    SENDER_WORKS,
    SENDER_HANGS,  // it never answers the lines that it reads in this mood
    SENDER_PAUSES, // it gives no answers until the mood changes; they then come late
};

// The answer to one attempt for a token, and the answer's delay.
struct sender_reply {
    enum reply reply;
    bool twice, oddly; // twice: the answer is given twice; oddly: a line that is no valid answer
                       // precedes it
    int64_t delay_ns;
};

struct sender_due {
    int64_t at_ns;
    int64_t line;      // number of the line among those of its process, from 1
    uint32_t delivery; // index of the delivery in the log
    uint32_t place;    // place of the token in the line, from 1
    struct sender_reply answer;
};

struct mock_sender {
    const struct scenario_sender *manner; // borrowed
    bool jobs; // it serves a queue's consumer and answers each "got N ATTEMPT" by "ok N", "fail N"
               // or "hang N"
    uint64_t seed;
    uint8_t *tries; // borrowed; the number of attempts for each planned token so far, shared by all
                    // senders
    size_t tokens;
    int fd;                  // the harness's end of the collector's standard input; -1: closed
    int64_t line_count;      // number of lines read from this process so far
    struct sender_due *heap; // owned; the answers to come, as a binary heap whose first item is due
                             // first
    size_t count;
    struct buf out; // text of answers that the pipe has not taken yet
};

// Draws an answer from the seed. Pure; attempts count from 0.
struct sender_reply mock_sender_draw(
    const struct scenario_sender *manner, uint64_t seed, uint32_t token, unsigned attempt);

void mock_sender_init(struct mock_sender *s, const struct scenario_sender *manner, bool jobs,
    uint64_t seed, uint8_t *tries, size_t tokens);
void mock_sender_fini(struct mock_sender *s); // closes the descriptor

// Begins to serve a new process, and takes over the descriptor of its standard input. Closes the
// earlier descriptor and forgets all answers to come. fd -1: serves no process.
void mock_sender_begin(struct mock_sender *s, int fd);

// Draws the answers to a line of the log.
void mock_sender_line(
    struct mock_sender *s, struct subject_log *log, uint32_t line, enum sender_mood mood);

// Marks the jobs whose handlers wait for an answer as refused: their process has died, so the queue
// must deliver them again. Does nothing for a collector's tokens.
void mock_sender_abandon(const struct mock_sender *s, struct subject_log *log);

// Gives the answers that are due, and notes in the log when it gave them. True when the sender
// died, which closes the descriptor.
bool mock_sender_say(
    struct mock_sender *s, struct subject_log *log, enum sender_mood mood, int64_t now_ns);

// Returns when mock_sender_say must be called next; CLOCK_NEVER: no answer is to come in this mood.
int64_t mock_sender_next_ns(const struct mock_sender *s, enum sender_mood mood);
