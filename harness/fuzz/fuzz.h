// A fuzz target is one function that takes arbitrary bytes and aborts when a property that must
// hold does not. x_fuzz.c holds the target for x. Either libFuzzer calls it or replay.c, so it has
// the name that libFuzzer expects.
#pragma once

#include "base/base.h"
#include "plan/rng.h"
#include "scenario/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Makes seeds that cannot well be stored, because they hold signatures, lengths or a version.
// Returns the length of seed number `index`, 0 behind the last, and sets `good` if it must be
// accepted. A target without such seeds leaves this function out.
size_t fuzz_seed(size_t index, uint8_t *data, size_t size, bool *good);

// Call it when the input was accepted. Replay requires this of the seeds that a target makes, and
// of files whose name begins with "good". A seed that is refused at its first byte would test
// nothing.
void fuzz_accept(void);
bool fuzz_accepted(void); // true when an input was accepted since the last call

#define FUZZ_SEED_MAX ((size_t)1 << 16)

// As assert(), but present in every build.
#define FUZZ_MUST(holds) ((holds) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #holds))

_Noreturn void fuzz_fail(const char *file, int line, const char *what);

// The rest of the input. It is taken piece by piece; behind its end there are only zeros.
struct fuzz_bytes {
    const uint8_t *at;
    size_t left;
};

uint8_t fuzz_byte(struct fuzz_bytes *b);
uint64_t fuzz_number(struct fuzz_bytes *b, unsigned bytes);

// Takes a length of one byte and then as many bytes, or fewer if the input ends.
struct fuzz_bytes fuzz_piece(struct fuzz_bytes *b);

// --- files.c -----------------------------------------------------------------------
//
// Files that exist in memory only. A target links this with -Wl,--wrap=fopen. For reading, fopen
// then opens only files that were added, and fails with ENOENT for any other. So an input cannot
// open a file of the machine.

// Adds a file that can be read from now on. The content is not copied.
void files_add(const char *path, const void *data, size_t len);
void files_clear(void);

// The key that both sides of a test know.

static const unsigned char fuzz_key[32] = "a key that is 32 bytes long, yes";

// --- mutate.c ----------------------------------------------------------------------
//
// Makes small random changes to an input, for runs without libFuzzer. The changes are the same on
// every machine.

// Changes `data` in a few places; `other` is an input to take pieces from.
// Returns the new length, at most `most`.
size_t mutate(struct rng *rng, uint8_t *data, size_t len, size_t most, const uint8_t *other,
    size_t other_len);

// --- same.c ------------------------------------------------------------------------
//
// Compares two scenarios field by field of the grammar's tables. A scenario that is written and
// read again must be equal to the last bit of every number.

// Returns the first key that differs; NULL: none does.
const char *same_scenario(const struct scenario *a, const struct scenario *b);
