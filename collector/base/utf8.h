// Reads the characters of a UTF-8 text. --set needs it because libyaml does not check its text,
// and writing needs it to know which characters must be escaped. Logs and reports need it because
// output of other programs, names of files and text that was cut to fit may have any bytes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Reads the character at *text and moves *text behind it; 0 at the end. False
// when the bytes are not UTF-8.
bool utf8_next(const char **text, uint32_t *character);

// True when the whole text is UTF-8.
bool utf8_valid(const char *text);

// Makes a text of one line fit to be shown. Puts a '?' in the place of each byte that is not part
// of a character, or that belongs to a control character or to one that changes the direction of
// text. A terminal, a page and a log would obey these.
void utf8_mend(char *text);

// True when YAML accepts the character without an escape within double quotes.
bool utf8_prints(uint32_t character);
