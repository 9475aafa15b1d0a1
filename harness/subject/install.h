// Installs a subject that comes with mailproof, pinned, into a copy of subjects/ in the user's
// cache. Only Debian's packages change the system; they come only for root, and are named first.
#pragma once

#include <stdbool.h>

#include "subject/manifest.h"

// Installs what is missing. The manifest is then that of the copy, whose folder it names. Nothing
// happens where the subject is installed already. ERR_SKIP: it cannot be installed, with the
// reason.
MUST_USE bool install_subject(struct manifest *m, struct err *e);
