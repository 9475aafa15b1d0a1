// The word for a count: NOUN(1, "death", "deaths") is "death".
#pragma once

// A macro, because counts are of many types, and each would need a cast to one of them.
#define NOUN(count, one, many) ((count) == 1 ? (one) : (many))
