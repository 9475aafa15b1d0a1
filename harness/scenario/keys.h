// The keys of a scenario, for its author.
#pragma once

// Calls `tell` for each key, in the order of the format: "load.N.rate", and what it
// means, with its default and its limits.
void keys_each(void (*tell)(const char *path, const char *text));
