// A tree of values whose every node knows where it was written, so that a bad
// unit deep in a scenario is reported at its own line and column.
//
// node_free frees a node and everything below it and accepts NULL.
#pragma once

#include "base/base.h"

#define NODE_DEPTH_MAX 16

enum node_kind { NODE_SCALAR, NODE_LIST, NODE_MAP };

// The origin of a value: a place in a file or an option on the command line. The caller of
// the parser owns the strings.
struct origin {
    const char *file;    // NULL: the value comes from the command line
    const char *set;     // "load.0.for=1s" when an override gave the value, else NULL
    size_t line, column; // both count from 1
};

struct node {
    enum node_kind kind;
    char *text; // the value of a scalar, else NULL
    char *key;  // the name of the node in the map above it, else NULL
    struct origin origin, key_origin;
    struct node *parent, *next; // next: the next child of the same parent
    struct node *first, *last;  // first and last child
    size_t count;               // number of children
};

// Makes a node without a parent. `text` is copied; it may be NULL.
struct node *node_new(enum node_kind kind, const char *text, const struct origin *origin);
void node_free(struct node *n);

// Appends a child, which `parent` owns from now on. `key` is copied; in lists it may be NULL.
void node_add(
    struct node *parent, struct node *child, const char *key, const struct origin *key_origin);

// Replaces the value of *n by that of *with, and frees `with`. *n keeps its key and its place in
// the tree.
void node_replace(struct node *n, struct node *with);

// Return the map's child with that key, or the list's item with that index, counted from 0. NULL
// when there is none. node_child also returns NULL for a map that is NULL.
struct node *node_child(const struct node *map, const char *key);
struct node *node_item(const struct node *list, size_t index);

// Fills *e with "FILE:LINE:COLUMN: text" or "--set KEY=VALUE: text"; returns false.
bool origin_err(const struct origin *at, struct err *e, const char *fmt, ...) PRINTF_LIKE(3, 4);

// These fill *e with "FILE:LINE:COLUMN: key.path: text". node_err and node_err_here name the place
// of the node's value, node_key_err that of its key. node_err_here takes the text from *e, and puts
// place and path before it. All return false.
bool node_err(const struct node *n, struct err *e, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool node_key_err(const struct node *n, struct err *e, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool node_err_here(const struct node *n, struct err *e);
