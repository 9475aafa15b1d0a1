// A histogram as one word of text: HdrHistogram's V2 encoding, compressed with
// zlib, in base64. This is the last field of a .hlog line.
#pragma once

#include "base/buf.h"
#include "measure/histogram.h"

MUST_USE bool payload_encode(struct buf *out, const struct histogram *h, struct err *e);

// Decodes any text. Fails with ERR_USAGE, and leaves *h zeroed, unless the text is exactly one
// histogram of our layout. On success the caller owns *h. Its min, max and sum are those of the
// buckets, because the encoding holds nothing finer.
MUST_USE bool payload_decode(struct histogram *h, const char *text, size_t len, struct err *e);
