// The record of a command that makes many runs: a line of JSON for each item of its work, written
// as soon as the item is done. The command's tables and pages are made from this record alone. So
// an interrupted command goes on where it stopped, and the records of several shards, put together
// (merge.h), give what one machine would have given.
//
// The first line tells whose record it is. Each further line has the number of its item under "n";
// the lines of an item stay in their order. A last line tells that the shard has done its part.
#pragma once

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

// A shard is the part of some numbered work that one machine does: shard 3 of 16 has each number
// that leaves 2 when it is divided by 16. So every machine knows its part without asking another.
#define SHARDS_MAX 1000

// Shard `number`, counted from 1, of `of` shards. A zeroed shard is the whole work.
struct shard {
    int number, of;
};

// Reads I/N, such as 3/16.
MUST_USE bool shard_parse(struct shard *s, const char *text, struct err *e);

// True when the shard has the item of this number.
bool shard_has(const struct shard *s, uint64_t number);

#define RECORD_NAME "record.jsonl"

struct merged;

struct record_head {
    const char *command;      // the subcommand
    const char *about;        // all that decides which item a number stands for
    const char *const *asked; // the options and arguments of the command, without those that only
                              // say where it is run and what it writes; NULL-terminated
    const char *program;      // its version
    struct shard shard;
    bool once;                   // a record that is finished is begun anew
    bool anew;                   // so is any other
    bool passing;                // the file is removed when all is done
    const struct merged *merged; // records of shards to take, instead of making runs; NULL: none
};

struct record {
    char folder[PATH_MAX]; // "": it is kept in memory only
    FILE *file;
    json_t *head;  // owned
    json_t *lines; // owned; all lines but the first, the last and those that were forgotten
    bool forgot;   // the file has more lines
    struct shard shard;
    bool passing;
    const struct merged *merged; // borrowed; NULL: runs are made here
};

// Opens the record in `folder`, reads what is there and goes on behind it; NULL: keeps it in
// memory. What was merged replaces what is there. ERR_USAGE when the record belongs to other work.
// Call record_close also on failure.
MUST_USE bool record_open(
    struct record *r, const char *folder, const struct record_head *head, struct err *e);
void record_close(struct record *r); // accepts a zeroed struct

// Adds a line, which it takes over (NULL: there was no memory).
MUST_USE bool record_add(struct record *r, json_t *line, struct err *e);

// Says that all items of this shard are done. The lines stay in memory.
MUST_USE bool record_finish(struct record *r, struct err *e);

// Frees the lines in memory. Those of the file stay there.
void record_forget(struct record *r);

// Ends a record whose lines a later call may want, though all is done: its file stays.
void record_keep(struct record *r);

// True when the item is to be done here: it belongs to this shard, and nothing was merged.
bool record_has(const struct record *r, uint64_t number);

// Returns the lines in the order of their items, as a new reference; NULL without memory.
json_t *record_sorted(const struct record *r);

// Returns the folder that the paths in a line start from.
const char *record_place(const struct record *r, const json_t *line);

// Returns which shards are missing, as a sentence; "" when the record is complete.
const char *record_gaps(const struct record *r);

// Reads a record that somebody else has written. *finished says whether its shard has done its
// part.
MUST_USE bool record_read(struct record *r, const char *path, bool *finished, struct err *e);
