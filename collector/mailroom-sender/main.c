// mailroom-sender: reads the collector's lines from standard input, makes a mail
// of each token, hands it to an SMTP server, and answers on standard output.
#include <getopt.h>
#include <sysexits.h>

#include <curl/curl.h>

#include "base/log.h"
#include "base/program.h"
#include "mailroom-sender/sending.h"

// Loads the settings, and makes what they ask for. On failure tear_down frees what was made.
static bool set_up_sender(struct sending *s, struct err *e)
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

static void tear_down(struct sending *s)
{
    smtp_free(s->smtp);
    input_fini(&s->input);
    rate_close(&s->rate);
    template_fini(&s->templates[0]);
    template_fini(&s->templates[1]);
    settings_fini(&s->settings);
    curl_global_cleanup();
}

// `answers`: the sender answers on standard output. Returns the exit code.
static int run_sender(bool answers)
{
    struct sending s = {.answers = answers, .rate = {.fd = -1}};
    struct err e;

    err_clear(&e);
    program_stay_private();
    variables_warn_of_unknown(&settings_variables, environ);
    if (!program_hold_standard_files(answers, &e) || !set_up_sender(&s, &e) ||
        !sending_serve(&s, &e))
        log_line("MAIN", "%s", e.text);
    tear_down(&s);
    return program_exit_code(e.kind);
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
            return program_tell(sender_help);
        case 'V':
            return program_tell(sender_version);
        case 's':
            return program_tell(settings_markdown);
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
