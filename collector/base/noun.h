// The word for a count: NOUN(1, "death", "deaths") is "death".
#pragma once

// A macro, because counts have many types, and a function would need a cast for each.
#define NOUN(count, one, many) ((count) == 1 ? (one) : (many))
