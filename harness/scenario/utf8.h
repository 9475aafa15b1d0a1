// Characters of a UTF-8 text, for what libyaml has not seen yet (--set) and for
// what it would not read back without an escape.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Reads the character at *text and moves *text behind it; 0 at the end. False
// when the bytes are not UTF-8.
bool utf8_next(const char **text, uint32_t *character);

// Whether YAML takes the character as it stands within double quotes.
bool utf8_prints(uint32_t character);
