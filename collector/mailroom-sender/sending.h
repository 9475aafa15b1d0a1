// The loop of the sender: a line, its mails, and their answers.
#pragma once

#include "mailroom-sender/input.h"
#include "mailroom-sender/mail.h"
#include "mailroom-sender/rate.h"
#include "mailroom-sender/settings.h"
#include "mailroom-sender/smtp.h"

struct sending {
    struct settings settings;
    struct template templates[2]; // for the actions 1 and 2
    struct smtp *smtp;
    struct rate rate;
    struct input input;
    bool answers;     // false: --no-answers
    int64_t number;   // the number of the line in hand, counted from 1
    int64_t pause_ns; // the last pause before another try; 0: the server has worked since
};

// Sends line after line. Returns true at the end of the input, or after TERM or INT; false: an
// error that ends the sender.
bool sending_serve(struct sending *s, struct err *e) MUST_USE;
