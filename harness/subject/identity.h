// Identifies the tested program by its content: a name may stay while the program
// behind it changes.
#pragma once

// Returns a text such as "mailroom-collector sha256:1a2b3c4d5e6f". It has each word of the command
// that names a file, with the beginning of the checksum of that file's content. argv[0] is looked
// up in PATH, the other words in `dir` (NULL: the working directory). `before` is put in front,
// such as a subject's name and version; NULL: nothing. The caller owns the text; NULL without
// memory.
char *identity_of(char *const *argv, const char *dir, const char *before);
