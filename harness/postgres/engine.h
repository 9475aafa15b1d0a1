// The command line of podman or docker, and the names and labels that distinguish one run's
// containers and volumes from another's.
//
// The label names the boot and the pid namespace that made them, and the name tells the process. A
// pid has a meaning only when boot and namespace are ours, because two jobs, each in a container of
// its own, may share one engine.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define ENGINE_LABEL_MAX 96
#define ENGINE_NAME_MAX 64

// Returns the engine that answers: $MAILPROOF_CONTAINER_ENGINE, podman or docker. NULL with
// ERR_SKIP when none does.
MUST_USE const char *engine_find(struct err *e);

// Runs argv to its end, with one more variable in its environment, which other users cannot read.
// Its output goes into text and is cut at `size`.
MUST_USE bool engine_run_with(
    const char *variable, const char *const *argv, char *text, size_t size, struct err *e);

// The same for the engine and up to 14 arguments, without a variable.
MUST_USE bool engine_call(
    const char *engine, char *text, size_t size, struct err *e, const char *const *arguments);

#define ENGINE(engine, text, e, ...)                                                               \
    engine_call((engine), (text), sizeof(text), (e), (const char *const[]){__VA_ARGS__, NULL})

// Makes the label of everything that this run makes: "mailproof=<boot>.<pid namespace>".
MUST_USE bool engine_label(char label[ENGINE_LABEL_MAX], struct err *e);

// Makes a name that tells which process made it: "mailproof-<pid>-<its start>-<unique>".
void engine_name(char name[ENGINE_NAME_MAX], const char *unique);

// Removes containers and volumes that have this label and whose process is gone.
void engine_sweep(const char *engine, const char *label);

// Writes the container's log to the file at `path`. Fails when that takes more than ten seconds.
MUST_USE bool engine_log(const char *engine, const char *name, const char *path);

// Removes the container and the volume of this name. Either may be missing.
void engine_remove(const char *engine, const char *name);
