// Reads and writes numbers with units. Errors (ERR_USAGE) quote the text and show the correct
// form; the caller adds the place.
//
// Numbers are decimal, without sign or exponent, and hold at most nine digits
// before and nine after the point, so that writing one gives back what was read.
// A count may have 18 digits.
#pragma once

#include "base/base.h"

// Reads "20s" or "1.5ms": a number and one of us, ms, s, m, h. The result is in nanoseconds.
MUST_USE bool units_duration(const char *text, int64_t *ns, struct err *e);

// Reads "42": digits only.
MUST_USE bool units_count(const char *text, int64_t *count, struct err *e);

// Reads "10", or "1..100" for any number between the two.
MUST_USE bool units_range(const char *text, int64_t *from, int64_t *to, struct err *e);

MUST_USE bool units_number(const char *text, double *number, struct err *e);

// Reads "0.05" or "5%"; the share may be more than 1.
MUST_USE bool units_share(const char *text, double *share, struct err *e);

// Reads "20kB/s": a number and B/s, kB/s or MB/s, in powers of ten.
MUST_USE bool units_bytes_per_second(const char *text, double *rate, struct err *e);

// Reads "200/s".
MUST_USE bool units_per_second(const char *text, double *rate, struct err *e);

// Reads "200/s", or "100/s..2000/s" for a rate that changes from one to the other.
MUST_USE bool units_rate(const char *text, double *from, double *to, struct err *e);

// Splits "< 500ms" into "<" and the text after the blanks.
MUST_USE bool units_comparison(
    const char *text, char comparison[3], const char **operand, struct err *e);

// Append a short text that reads back as the same value; a duration below 0 begins with '-', which
// the reader of the field must take off. False when `out` has failed.
bool units_print_duration(struct buf *out, int64_t ns);
bool units_print_number(struct buf *out, double number);
