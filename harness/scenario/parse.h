// YAML text to a tree of nodes.
//
// It is read from libyaml's events rather than from its document API: events
// keep the place of anchors and aliases too, which a scenario may not use, and
// the reading ends at the first thing that is too deep or too long.
#pragma once

#include "scenario/node.h"

#define PARSE_CHILDREN_MAX 1000

// Parses one document. Error positions are told through `origin`: its file, or
// its --set, which has no lines. *root is NULL on failure, else the caller's.
MUST_USE bool parse_yaml(
    struct node **root, const char *text, size_t len, const struct origin *origin, struct err *e);
