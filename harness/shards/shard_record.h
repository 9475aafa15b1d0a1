// Keeps the record of a command that makes many runs: lines of JSON for each item of its work,
// written as soon as the item is done. The command's tables and pages are made from this record
// alone. So an interrupted command can go on where it stopped, and the joined records of several
// shards (merge.h) give the same as a single machine would.
//
// The first line tells which work the record belongs to. Each further line has the number of its
// item under "n"; the lines of one item keep their order. When a shard has done its part, a last
// line says so.
#pragma once

#include <jansson.h>

#include "base/base.h"

// A shard is the part of a command's numbered items that one machine does: shard 3 of 16 has the
// items whose numbers leave the remainder 2 when divided by 16. So each machine knows its part
// without asking another.
#define SHARDS_MAX 1000

// Shard `number`, counted from 1, of `of` shards. A zeroed struct stands for the whole work.
struct shard {
    int number, of;
};

// Reads a shard written as I/N, such as 3/16. ERR_USAGE when the text is no shard.
MUST_USE bool shard_parse(struct shard *s, const char *text, struct err *e);

// True when the item with this number belongs to the shard.
bool shard_has(const struct shard *s, uint64_t number);

#define RECORD_NAME "record.jsonl"

struct merged;

struct record_head {
    const char *command;      // the subcommand
    const char *about;        // all that decides which item a number stands for
    const char *const *asked; // NULL-terminated; the command's options and arguments, without those
                              // that only say where it runs and what it writes
    const char *program;      // mailproof's name and version
    struct shard shard;
    bool anew_if_finished;       // if the old record is finished, it is removed and a new one begun
    bool anew;                   // any old record is removed and a new one begun
    bool temporary;              // record_finish removes the file
    const struct merged *merged; // joined records of shards to use instead of making runs; NULL:
                                 // none
};

struct record {
    char folder[PATH_MAX]; // "": the record is kept in memory only
    FILE *file;
    json_t *head;  // owned
    json_t *lines; // owned; the lines in memory: all but the first, the one that says finished, and
                   // those that record_forget freed
    bool forgot;   // record_forget was called, so the file has more lines than `lines`
    struct shard shard;
    bool temporary;
    const struct merged *merged; // borrowed; NULL: runs are made here
};

// Opens the record in `folder`, reads its lines and appends to it; folder NULL: the record is kept
// in memory only. If the head has merged records, their lines replace what is there. ERR_USAGE when
// the record belongs to other work. Call record_close also on failure.
MUST_USE bool record_open(
    struct record *r, const char *folder, const struct record_head *head, struct err *e);
void record_close(struct record *r); // accepts a zeroed struct

// Adds a line, and takes over the reference. NULL: the line could not be made, because a text is
// not UTF-8; this call then fails.
MUST_USE bool record_add(struct record *r, json_t *line, struct err *e);

// Ends the record, because all items of this shard are done: the last line says so, or the file is
// removed (`temporary`). The lines stay in memory.
MUST_USE bool record_finish(struct record *r, struct err *e);

// Frees the lines in memory. The lines in the file stay.
void record_forget(struct record *r);

// Closes the file and keeps it, without the line that says finished, so that a later command can go
// on with the record although all is done.
void record_suspend(struct record *r);

// True when the item with this number is to be done here: it belongs to this shard, and the record
// is not one of merged shards.
bool record_wants(const struct record *r, uint64_t number);

// Returns the lines sorted by the numbers of their items, as a new reference.
json_t *record_sorted(const struct record *r);

// Returns the first of these lines that belongs to the item with this number; NULL: none does.
const json_t *record_line(const json_t *lines, uint64_t number);

// Returns the folder of the record that a line comes from. The paths in a line are relative to this
// folder (explore), or to the one above it (command_record_path).
const char *record_folder(const struct record *r, const json_t *line);

// Returns a text that says which shards are missing or did not finish; "" when none.
const char *record_gaps(const struct record *r);

// Reads a record's file without opening it for writing. *finished: its shard has done its part.
MUST_USE bool record_read(struct record *r, const char *path, bool *finished, struct err *e);
