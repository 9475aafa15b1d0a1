// What the collector may ask of the kernel once it has started (Linux, libseccomp).
//
// The collector may use the sockets of its databases and scrapers, read files, wait, and ask for
// memory. Whoever gets to run code in it, through a flaw in it or in one of its libraries, can
// start no program, trace no process, make no code, and write no file. It gains no rights
// (no_new_privs). It can read whatever its user may read, and where the metrics need a file or a
// Unix socket it can write, too, because the filter does not see paths. A call that only an
// intruder makes kills the process with SIGSYS. Any other call that is not in the table fails with
// ENOSYS, as if the kernel lacked it, so that a newer libc falls back to an older call.
//
// The sender is not in the sandbox: the launcher (launch.h) starts it.
#pragma once

#include "base/base.h"

// Enters the sandbox for good. `keeps_files`: files can still be opened for writing, replaced and
// removed, because the metrics' file or socket needs that. ERR_USAGE: the kernel refuses.
bool sandbox_enter(bool keeps_files, struct err *e) MUST_USE;
