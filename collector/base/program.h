// The collector and the mail sender call this around their work: it holds the standard files, keeps
// secrets, catches TERM and INT, writes whole texts, and chooses an exit code.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

// Opens /dev/null for each standard file that is closed. Otherwise the next socket would get the
// free number, and log lines or answers would go to a server. With `writes_output`, a closed
// standard output is an error: ERR_OUTPUT.
MUST_USE bool program_hold_standard_files(bool writes_output, struct err *e);

// From now on TERM or INT puts a byte into a pipe and makes program_stopping true. A poll on
// program_stop_fd sees even a signal that came just before the poll. PIPE and XFSZ are ignored, so
// that a failed write is an error. Call it once.
MUST_USE bool program_catch_signals(struct err *e);

// Keeps the memory, and the secrets in it, out of core dumps and away from debuggers and other
// processes of the same user (Linux).
void program_stay_private(void);

// Lets `print` write to standard output, for --help and the like. Returns the exit code: 0, or
// EX_IOERR when the text could not be written.
int program_tell(void print(FILE *));

// Returns the exit code of a program that an error of this kind has ended, one of sysexits(3).
int program_exit_code(enum err_kind kind);

// Reads the first line of a file that holds a secret, as much of it as fits, without its line end;
// the caller wipes `line`. With `show_path`, logs a warning if users other than the file's owner
// and its group can read the file. A caller passes false when the path may be the secret itself,
// given by mistake. False: errno says why the file cannot be opened.
MUST_USE bool program_read_secret(const char *path, bool show_path, char *line, size_t size);

// Writes all of the text, and waits for room if need be. False: errno says why.
MUST_USE bool program_write(int fd, const char *text, size_t len);

// Makes a pipe whose ends are closed on exec. False: errno says why; ends that were made stay open,
// and the others keep their values.
MUST_USE bool program_pipe(int ends[2]);

// Returns the descriptor that can be read once TERM or INT has come; the caller may read its bytes.
int program_stop_fd(void);
bool program_stopping(void); // TERM or INT has come
