// The record of a command that can be dealt out to shards (shards/shard_record.h).
#pragma once

#include "options/options.h"
#include "shards/shard_record.h"

#define COMMAND_RECORD_ABOUT_MAX 8192

// Writes what decides which item a number stands for: what was asked, and a hash of the scenarios
// with all their defaults.
MUST_USE bool command_record_about(char about[COMMAND_RECORD_ABOUT_MAX], const struct options *o,
    const struct scenario *scenarios, size_t count, struct err *e);

// Goes on with a hash (FNV-1a). It only tells different texts apart.
uint32_t command_record_hash(uint32_t hash, const char *text);
#define COMMAND_RECORD_HASH_INIT 2166136261u

// Fills in the head of the command's record. `about` is all that decides which item a number stands
// for. The head borrows from the options and from `about`.
void command_record_head(
    struct record_head *head, const struct options *o, const char *command, const char *about);

// Opens the record of a command whose shards begin anew once they have finished. It lies below
// --out, in a folder that other options do not share. A shard goes on with what is there; a call
// for the whole work does so with --resume only, and removes the record when all is done.
// `several`: there is more than one item, so that it is worth a file. Call command_record_close
// also on failure.
MUST_USE bool command_record_open(struct record *r, const struct options *o, const char *command,
    const char *about, bool several, struct err *e);
// Says how to go on, if something is left to do. Accepts a zeroed struct.
void command_record_close(struct record *r);

// Returns a path as seen from `out`, for a line of the record.
const char *command_record_below(const char *path, const char *out);

// Makes a path that a line of such a record has kept, seen from --out of its shard. "" stays "".
MUST_USE bool command_record_path(
    char out[PATH_MAX], const struct record *r, const json_t *line, const char *key, struct err *e);
