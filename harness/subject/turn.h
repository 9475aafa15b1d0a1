// The turn from one segment of a soak to the next: a new log begins, and the processes go on.
#pragma once

#include "subject/serve.h"

// Makes the turn that another thread asks for, as soon as nothing is open. Belongs to the thread.
void turn_make(struct subject *s);
