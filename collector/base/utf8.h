// Reads the characters of a UTF-8 text. Scenario options (--set) need that because libyaml does not
// check their text, and the writer of scenarios must know which characters to escape. Logs and
// reports need it because output of other programs, names of files and text that was cut to fit may
// have any bytes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Reads the character at *text, and moves *text to the next one. At the end of the text the
// character is 0, and *text stays. False: the bytes are not UTF-8.
bool utf8_next(const char **text, uint32_t *character);

// True when the whole text is UTF-8.
bool utf8_valid(const char *text);

// Makes a text of one line fit to be shown. Puts a '?' in the place of each byte that is not part
// of a character, or that belongs to a control character or to one that changes the direction of
// text. A terminal, a page or a log would obey such characters.
void utf8_mend(char *text);

// True when the character can be written as it is: YAML accepts it within double quotes, but for
// the quote and the backslash, and no terminal obeys it.
bool utf8_prints(uint32_t character);
