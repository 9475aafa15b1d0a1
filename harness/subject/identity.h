// Identifies the tested program by its content, because a program may change while its name stays
// the same.
#pragma once

// Returns a text such as "mailroom-collector sha256:1a2b3c4d5e6f". It lists each of the command's
// first words that names a file, with the beginning of the checksum of that file's content. argv[0]
// is looked up in PATH, the other words in `dir` (NULL: the working directory). `before`, such as a
// subject's name and version, begins the text; NULL: nothing does. The caller owns the text. NULL
// when memory is short.
char *identity_of(char *const *argv, const char *dir, const char *before);
