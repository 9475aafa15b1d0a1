// Parses YAML text into a tree of nodes.
//
// The parser uses libyaml's events and not its document API. Events also tell the places of anchors
// and aliases, which a scenario may not use, and parsing can stop at the first node that is nested
// too deep or has too many entries.
#pragma once

#include "scenario/node.h"

#define PARSE_CHILDREN_MAX 1000

// Parses one document. Errors name the file or the --set in `origin`; a --set has no lines.
// The caller owns *root, which is NULL on failure.
MUST_USE bool parse_yaml(
    struct node **root, const char *text, size_t len, const struct origin *origin, struct err *e);
