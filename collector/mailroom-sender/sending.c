#include "mailroom-sender/sending.h"

#include <poll.h>

#include "base/log.h"
#include "base/program.h"

#define PAUSE_FIRST_NS NS_PER_S      // the first pause before another try
#define PAUSE_MAX_NS (30 * NS_PER_S) // the longest one

// Sleeps until this time. TERM or INT ends the sleep early, so the caller asks program_stopping
// afterwards.
static void sleep_until(int64_t at_ns)
{
    struct pollfd stop = {.fd = program_stop_fd(), .events = POLLIN};

    while (!program_stopping()) {
        int64_t now = clock_now_ns();
        if (now >= at_ns)
            return;
        poll(&stop, 1, clock_poll_ms(now, at_ns));
    }
}

// Logs a failure and, unless --no-answers was given, answers for the token at this place, counted
// from 1; place 0 stands for all tokens of the line that have no answer.
static bool answer_line(const struct sending *s, size_t place, const struct reply *r, struct err *e)
{
    static const char *const words[] = {
        [MAIL_SENT] = "sent",
        [MAIL_TRANSIENT] = "error transient ",
        [MAIL_LATER] = "error transient ",
        [MAIL_PERMANENT] = "error permanent ",
    };
    char text[512], where[64];

    snprintf(where, sizeof where, place ? "%" PRId64 ".%zu" : "%" PRId64, s->number, place);
    int len = snprintf(text, sizeof text, "%s %s%s\n", where, words[r->outcome],
        r->outcome == MAIL_SENT ? "" : r->text);
    if (r->outcome != MAIL_SENT)
        log_line("MAIL", "%s: %s%s", where, words[r->outcome], r->text);
    return !s->answers || program_write(STDOUT_FILENO, text, (size_t)len) ||
           err_sys(e, ERR_OUTPUT, "an answer cannot be written");
}

// Pauses before the next try; TERM or INT ends the pause early. Each pause in a row is twice the
// one before, up to PAUSE_MAX_NS.
static void pause_sending(struct sending *s)
{
    s->pause_ns = s->pause_ns ? clock_min(2 * s->pause_ns, PAUSE_MAX_NS) : PAUSE_FIRST_NS;
    sleep_until(clock_now_ns() + s->pause_ns);
}

// Waits until the rate allows a mail, and tries once to send it. If the day's mails are used up, it
// neither waits nor tries: *reply is MAIL_LATER. If a signal comes first, *reply is left alone.
// False: an error that ends the sender.
static bool attempt_once(
    struct sending *s, const struct record *r, struct reply *reply, struct err *e)
{
    if (rate_spent(&s->rate, clock_wall_ns() / NS_PER_S)) {
        *reply = (struct reply){.outcome = MAIL_LATER};
        snprintf(reply->text, sizeof reply->text, "454 the day's %.0f mails are used up",
            s->settings.daily);
        return true;
    }
    sleep_until(rate_next_ns(&s->rate, clock_now_ns()));
    if (program_stopping())
        return true;
    // The pause may have crossed midnight, so the time is read again.
    return rate_count(&s->rate, clock_now_ns(), clock_wall_ns() / NS_PER_S, e) &&
           smtp_send(s->smtp, &s->templates[r->action - 1], r, reply, e);
}

// Tries to send a mail again and again, because with --no-answers nobody else does. While no mail
// would succeed (MAIL_LATER), it tries for as long as it takes; when only this mail fails, it tries
// SENDER_ATTEMPTS times. TERM or INT ends the tries. False: an error that ends the sender.
static bool attempt_until_done(
    struct sending *s, const struct record *r, struct reply *reply, struct err *e)
{
    for (int tries = 1;;) {
        if (!attempt_once(s, r, reply, e))
            return false;
        if (program_stopping() || reply->outcome == MAIL_SENT || reply->outcome == MAIL_PERMANENT)
            return true;
        if (reply->outcome == MAIL_TRANSIENT && tries++ >= (int)s->settings.attempts)
            return true;
        log_line("MAIL", "line %" PRId64 " is tried again: %s", s->number, reply->text);
        pause_sending(s);
    }
}

// Gives this reply as the answer for every mail of the line that has no answer yet, and pauses,
// because no mail would succeed now (MAIL_LATER).
static bool give_up_line(struct sending *s, const struct reply *reply, struct err *e)
{
    if (!answer_line(s, 0, reply, e))
        return false;
    pause_sending(s);
    return true;
}

// Sends the mails of a line, and answers for each. After TERM or INT the mails that are left get no
// answer. False: an error that ends the sender.
static bool send_line(struct sending *s, const char *line, size_t len, struct err *e)
{
    const char *at = line;
    size_t count = record_count(line, len);
    struct reply reply = {
        .outcome = MAIL_PERMANENT, .text = "500 the line does not have five fields for each mail"};
    struct record r;

    if (count == 0)
        return answer_line(s, 0, &reply, e);
    for (size_t place = 1; place <= count && !program_stopping(); place++) {
        const char *why = record_next(&r, &at, line + len);
        // This is the outcome if a signal comes before the mail is tried.
        reply.outcome = MAIL_LATER;
        // With answers a mail is tried once, because the collector sends its token again.
        if (why) {
            reply.outcome = MAIL_PERMANENT;
            snprintf(reply.text, sizeof reply.text, "553 %s", why);
        } else if (!(s->answers ? attempt_once : attempt_until_done)(s, &r, &reply, e)) {
            return false;
        } else if (program_stopping() && reply.outcome != MAIL_SENT) {
            return true; // without an answer, so the collector gives the token out again
        } else if (s->answers && reply.outcome == MAIL_LATER) {
            return give_up_line(s, &reply, e);
        } else {
            s->pause_ns = 0; // the server works, so the next pause is short again
        }
        if (!answer_line(s, place, &reply, e))
            return false;
    }
    return true;
}

bool sending_serve(struct sending *s, struct err *e)
{
    const char *line;
    size_t len;

    while (!program_stopping()) {
        enum input_result got = input_next(&s->input, &line, &len, e);
        if (got == INPUT_INTERRUPTED)
            // TERM or INT has come, so the loop ends.
            continue;
        if (got != INPUT_LINE)
            return got == INPUT_END;
        s->number++;
        if (!send_line(s, line, len, e))
            return false;
        // The server ends a connection that is silent, and the next mail would find it closed.
        if (!input_waiting(&s->input) && !smtp_hang_up(s->smtp, e))
            return false;
    }
    return true;
}
