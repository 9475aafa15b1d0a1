// mailroom-sender: reads the collector's lines from standard input, makes a mail
// of each token, hands it to an SMTP server, and answers on standard output.
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sysexits.h>
#include <unistd.h>

#include <curl/curl.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/program.h"
#include "sender/input.h"
#include "sender/mail.h"
#include "sender/rate.h"
#include "sender/settings.h"
#include "sender/smtp.h"

#define PAUSE_FIRST_NS NS_PER_S      // the first pause before another try
#define PAUSE_MAX_NS (30 * NS_PER_S) // the longest one

// The exit codes: those of sysexits(3) that the sender uses.
enum ending { ENDING_OK = 0, ENDING_INTERNAL = 70, ENDING_OUTPUT = 74, ENDING_CONFIG = 78 };

struct sender {
    struct settings settings;
    struct template templates[2]; // for the actions 1 and 2
    struct smtp *smtp;
    struct rate rate;
    struct input input;
    bool answers;
    int64_t number;   // the number of the line in hand, counted from 1
    int64_t pause_ns; // the last pause before another try; 0: the last try succeeded
};

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

// Writes all of the text to standard output.
static bool write_all_out(const char *text, size_t len, struct err *e)
{
    while (len > 0) {
        ssize_t n = write(STDOUT_FILENO, text, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(e, ERR_OUTPUT, "an answer cannot be written");
        text += n;
        len -= (size_t)n;
    }
    return true;
}

// Logs a failure, and answers for the token at this place, counted from 1; place 0 stands for all
// tokens of the line that have no answer.
static bool answer_line(const struct sender *s, size_t place, const struct reply *r, struct err *e)
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
    return !s->answers || write_all_out(text, (size_t)len, e);
}

// Pauses before the next try; TERM or INT ends the pause early. Each pause in a row is twice the
// one before, up to PAUSE_MAX_NS.
static void pause_sending(struct sender *s)
{
    s->pause_ns = s->pause_ns ? clock_min(2 * s->pause_ns, PAUSE_MAX_NS) : PAUSE_FIRST_NS;
    sleep_until(clock_now_ns() + s->pause_ns);
}

// Tries once to send a mail, when the limits allow it. If a signal comes first, *reply is left
// alone. False: an error that ends the sender.
static bool attempt(struct sender *s, const struct record *r, struct reply *reply, struct err *e)
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

// Tries to send a mail again and again, because without answers nobody else does. While no mail
// would succeed (MAIL_LATER), it tries for as long as it takes; when only this mail fails, it tries
// SENDER_ATTEMPTS times.
static bool attempt_until_done(
    struct sender *s, const struct record *r, struct reply *reply, struct err *e)
{
    for (int tries = 1;;) {
        if (!attempt(s, r, reply, e))
            return false;
        if (program_stopping() || reply->outcome == MAIL_SENT || reply->outcome == MAIL_PERMANENT)
            return true;
        if (reply->outcome == MAIL_TRANSIENT && tries++ >= (int)s->settings.attempts)
            return true;
        log_line("MAIL", "line %" PRId64 " is tried again: %s", s->number, reply->text);
        pause_sending(s);
    }
}

// Gives this reply (MAIL_LATER) as the answer for every mail of the line that has no answer yet,
// and pauses.
static bool give_up_line(struct sender *s, const struct reply *reply, struct err *e)
{
    bool ok = answer_line(s, 0, reply, e);

    pause_sending(s);
    return ok;
}

// Sends the mails of a line, and answers for each. After TERM or INT the mails that are left get no
// answer. False: an error that ends the sender.
static bool send_line(struct sender *s, const char *line, size_t len, struct err *e)
{
    const char *at = line;
    size_t count = record_count(line, len);
    struct reply reply = {
        .outcome = MAIL_PERMANENT, .text = "500 the line does not have five fields for each mail"};
    struct record r;

    if (count == 0)
        return answer_line(s, 0, &reply, e);
    for (size_t place = 1; place <= count && !program_stopping(); place++) {
        // This is the outcome if a signal comes before the mail is tried.
        reply.outcome = MAIL_LATER;
        // With answers a mail is tried once, because the collector sends its token again.
        const char *why = record_next(&r, &at, line + len);
        if (why) {
            reply.outcome = MAIL_PERMANENT;
            snprintf(reply.text, sizeof reply.text, "553 %s", why);
        } else if (!(s->answers ? attempt : attempt_until_done)(s, &r, &reply, e)) {
            return false;
        } else if (program_stopping() && reply.outcome != MAIL_SENT) {
            return true;
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

// Sends line after line. Returns true at the end of the input, or after TERM or INT.
static bool serve_lines(struct sender *s, struct err *e)
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

static bool set_up_sender(struct sender *s, struct err *e)
{
    struct settings *c = &s->settings;

    bool loaded = settings_load(c, environ, e);
    // The environment's secrets are wiped even when the settings are refused.
    variables_wipe(&settings_variables, environ);
    if (!loaded)
        return false;
    rate_init(&s->rate, c->rate, c->burst, (int64_t)c->daily, clock_now_ns());
    if (!rate_open(&s->rate, c->state_file, e) ||
        !template_init(&s->templates[0], TOKEN_ACTIVATION, c->activation, e) ||
        !template_init(&s->templates[1], TOKEN_PASSWORD_RECOVERY, c->recovery, e) ||
        !program_catch_signals(e))
        return false;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(e, ERR_SYSTEM, "libcurl cannot be used");
    s->smtp = smtp_new(c, e);
    input_init(&s->input, STDIN_FILENO, program_stop_fd());
    return s->smtp != NULL;
}

static void tear_down(struct sender *s)
{
    smtp_free(s->smtp);
    input_fini(&s->input);
    rate_close(&s->rate);
    template_fini(&s->templates[0]);
    template_fini(&s->templates[1]);
    settings_fini(&s->settings);
    curl_global_cleanup();
}

static enum ending ending_of(const struct err *e)
{
    switch (e->kind) {
    case ERR_NONE:
        return ENDING_OK;
    case ERR_USAGE:
        return ENDING_CONFIG;
    case ERR_OUTPUT:
        return ENDING_OUTPUT;
    default:
        return ENDING_INTERNAL;
    }
}

static int run_sender(bool answers)
{
    struct sender s = {.answers = answers, .rate = {.fd = -1}};
    struct err e;

    err_clear(&e);
    program_stay_private();
    variables_warn_of_unknown(&settings_variables, environ);
    if (!program_hold_standard_files(answers, &e) || !set_up_sender(&s, &e) || !serve_lines(&s, &e))
        log_line("MAIN", "%s", e.text);
    tear_down(&s);
    return (int)ending_of(&e);
}

static void sender_help(FILE *out)
{
    fputs("mailroom-sender: sends the mails that mailroom-collector's lines name.\n\n"
          "  mailroom-collector -- mailroom-sender              with MAILROOM_DEQUEUE=leased\n"
          "  mailroom-collector | mailroom-sender --no-answers  in the other modes\n\n"
          "It answers on standard output, a line per mail: '12.3 sent',\n"
          "'12.3 error transient 452 …', '12.3 error permanent 550 …'; '12 error …' speaks for\n"
          "every mail of line 12 that has no answer yet. These environment variables are its\n"
          "settings:\n\n",
        out);
    settings_help(out);
    fputs("\nExit codes: 0 end of input, TERM or INT (the mail in hand was finished)\n"
          "  64 unknown argument\n"
          "  70 internal error\n"
          "  74 answers cannot be written\n"
          "  78 settings do not fit\n",
        out);
}

static void sender_version(FILE *out)
{
    fputs("mailroom-sender " MAILROOM_VERSION "\n", out);
}

int main(int argc, char **argv)
{
    static const struct option longs[] = {{"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'}, {"settings", no_argument, NULL, 's'},
        {"no-answers", no_argument, NULL, 'n'}, {0}};
    bool answers = true;
    int option;

    while ((option = getopt_long(argc, argv, "hV", longs, NULL)) != -1) {
        switch (option) {
        case 'h':
            return program_tell(sender_help, EX_IOERR);
        case 'V':
            return program_tell(sender_version, EX_IOERR);
        case 's':
            return program_tell(settings_markdown, EX_IOERR);
        case 'n':
            answers = false;
            break;
        default:
            fputs("Try 'mailroom-sender --help'.\n", stderr);
            return EX_USAGE;
        }
    }
    if (!argv[optind])
        return run_sender(answers);
    fprintf(stderr,
        "mailroom-sender: it takes options only, not '%.40s'\n"
        "Try 'mailroom-sender --help'.\n",
        argv[optind]);
    return EX_USAGE;
}
