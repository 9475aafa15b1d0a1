// Opens and reads the record (shards/shard_record.h) of a command whose work can be shared among
// several machines.
#pragma once

#include "options/options.h"
#include "shards/shard_record.h"

#define COMMAND_RECORD_ABOUT_MAX 8192

// Writes into `about` what decides which item a number stands for: the options and arguments that
// decide results, and a hash of the scenarios with all their defaults. ERR_USAGE when it is too
// long or not UTF-8.
MUST_USE bool command_record_about(char about[COMMAND_RECORD_ABOUT_MAX], const struct options *o,
    const struct scenario *scenarios, size_t count, struct err *e);

// Returns the hash (FNV-1a) continued by `text`. It only tells different texts apart.
uint32_t command_record_hash(uint32_t hash, const char *text);
#define COMMAND_RECORD_HASH_INIT 2166136261u

// Fills in the head of the command's record. `about` must contain all that decides which item a
// number stands for. The head borrows from the options and from `about`.
void command_record_head(
    struct record_head *head, const struct options *o, const char *command, const char *about);

// Opens the command's record, in a folder below --out that depends on `command` and `about`. A
// shard continues an unfinished record. A call for the whole work does so only with --resume, and
// record_finish removes its record. A finished record is always begun anew. `several`: there is
// more than one item, so a call for the whole work keeps its record in a file. Call
// command_record_close also on failure.
MUST_USE bool command_record_open(struct record *r, const struct options *o, const char *command,
    const char *about, bool several, struct err *e);
// Closes the record. If work is left to do, says how to go on. Accepts a zeroed struct.
void command_record_close(struct record *r);

// Returns the path for a line of the record: relative to the folder `out` if it lies below that.
const char *command_record_below(const char *path, const char *out);

// Fills in the path that `line` has under `key`; "" when it has none. A relative path in a line
// begins at the --out of the line's shard.
MUST_USE bool command_record_path(
    char out[PATH_MAX], const struct record *r, const json_t *line, const char *key, struct err *e);
