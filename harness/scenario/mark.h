// A mark that shows whether a scenario.yaml was written by a run of this user or came from
// elsewhere. `mailproof run RESULT` runs the commands in it only with the mark, or with --trust.
//
// A run ends the scenario.yaml of its result folder with a comment, "# mark: " and 64 hexadecimal
// digits: the HMAC-SHA256 of the text before it. The key is made once, at random, and lies in the
// user's state folder, ${XDG_STATE_HOME:-~/.local/state}/mailproof/mark-key, which nobody else can
// read.
#pragma once

#include "base/base.h"

// Appends the mark to a scenario's text, and makes the key if there is none. Appends nothing when
// there is no folder for the key, or when others can read the key.
void mark_append(struct buf *yaml);

// True when the text ends with the mark that this user's key makes of the rest: a run of this user
// wrote it, and nobody has changed it since.
bool mark_is_valid(const char *text, size_t len);
