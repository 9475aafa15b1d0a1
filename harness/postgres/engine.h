// Runs podman or docker, and makes the names and labels that distinguish one run's containers and
// volumes from another's.
//
// The label tells in which boot and pid namespace a container or volume was made, and the name
// tells by which process. The pid in the name means something only if boot and namespace are ours:
// two jobs, each in a container of its own, may share one engine.
#pragma once

#include "base/base.h"

#define ENGINE_LABEL_MAX 96
#define ENGINE_NAME_MAX 64
#define ENGINE_ARGUMENTS_MAX 14

// Returns the engine that answers: the one that $MAILPROOF_CONTAINER_ENGINE names or, without that,
// podman or docker. NULL with ERR_SKIP when none does.
MUST_USE const char *engine_find(struct err *e);

// Runs argv to its end, with one more "NAME=value" in its environment, which other users cannot
// read. Copies its output into `text`, cut at `size`.
MUST_USE bool engine_run_with_variable(
    const char *variable, const char *const *argv, char *text, size_t size, struct err *e);

// Runs the engine to its end. Copies its output into `text`, cut at `size`. ERR_INTERNAL for more
// than ENGINE_ARGUMENTS_MAX arguments.
MUST_USE bool engine_call(
    const char *engine, char *text, size_t size, struct err *e, const char *const *arguments);

// engine_call with the arguments in a row; `text` must be an array.
#define ENGINE(engine, text, e, ...)                                                               \
    engine_call((engine), (text), sizeof(text), (e), (const char *const[]){__VA_ARGS__, NULL})

// Makes the label of everything that this run makes: "mailproof=<boot>.<pid namespace>".
MUST_USE bool engine_label(char label[ENGINE_LABEL_MAX], struct err *e);

// Makes a name that tells which process made it: "mailproof-<pid>-<its start>-<unique>".
void engine_name(char name[ENGINE_NAME_MAX], const char *unique);

// Removes the containers and volumes with this label that were made by a process that is gone.
void engine_sweep(const char *engine, const char *label);

// Writes the container's log to the file at `path`. Fails when that takes more than ten seconds.
MUST_USE bool engine_log(const char *engine, const char *name, const char *path);

// Removes the container and the volume of this name. Either may be missing.
void engine_remove(const char *engine, const char *name);
