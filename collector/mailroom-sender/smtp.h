// Hands mails to an SMTP server, one at a time, over one connection.
//
// libcurl speaks the protocol and TLS. smtp_send blocks for as long as the
// server takes, at most the timeout. The connection stays open for the next
// mail until smtp_hang_up is called or the server refuses something.
#pragma once

#include "mailroom-sender/mail.h"
#include "mailroom-sender/settings.h"

enum outcome {
    MAIL_SENT,      // the server answered 250 to the whole mail
    MAIL_TRANSIENT, // this mail may succeed later
    MAIL_LATER,     // no mail would succeed now: the server is away, says 421 or 454, or refuses
                    // more than this mail (smtp_judge)
    MAIL_PERMANENT, // this mail will never succeed
};

struct reply {
    enum outcome outcome;
    char text[256]; // what the server said, or what went wrong; no control characters
};

struct smtp; // owned by the caller from smtp_new to smtp_free

// Connects only when a mail is sent. `s` is borrowed. NULL: *e says why.
struct smtp *smtp_new(const struct settings *s, struct err *e) MUST_USE;
void smtp_free(struct smtp *s); // accepts NULL

// Tries once to send a mail; *reply tells what came of it. False only when the mail could not be
// made.
bool smtp_send(struct smtp *s, const struct template *t, const struct record *r,
    struct reply *reply, struct err *e) MUST_USE;

// Ends the connection with QUIT, by making a new libcurl handle; the next mail connects again.
bool smtp_hang_up(struct smtp *s, struct err *e) MUST_USE;

// Returns what a reply means for the mail. Pure. `code` is the server's, 0 when it gave none;
// `command` is the last command that was sent. Only a refusal of RCPT or of the content (DATA) can
// be the mail's fault; one of an earlier command concerns all mails.
enum outcome smtp_judge(long code, const char *command);
