// mailproof check: judges stored runs again from their histories, without a server. With --token it
// shows the life of one token.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/files.h"
#include "cli/replay.h"
#include "plan/names.h"
#include "report/life.h"

// --- printing -----------------------------------------------------------------------

static void print_verdict(const struct replay *s, const char *folder)
{
    const struct result *r = &s->result;

    printf("%s: %s (%s)\n", s->scenario.name, verdict_name(r->verdict), folder);
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        const struct finding *f = &r->findings[id];
        if (!r->broken[id])
            continue;
        printf("  %s: %llu, must be 0 or what `allow` says\n", metrics[id].name,
            (unsigned long long)f->count);
        for (size_t i = 0; i < f->example_count; i++)
            printf("    %s\n", f->examples[i]);
    }
    for (size_t i = 0; i < s->scenario.expect_count; i++) {
        if (!r->holds[i])
            printf("  expected %s %s\n", s->scenario.expect[i].metric, s->scenario.expect[i].want);
    }
    for (size_t i = 0; i < r->reason_count; i++)
        printf("  because %s\n", r->reasons[i]);
    if (s->history.notes.gave_up[0])
        printf("  because %s\n", s->history.notes.gave_up);
}

static void print_event(const struct ledger *l, int64_t at_ns, const char *what, void *unused)
{
    (void)unused;
    printf("  %9.3f s  %s\n", ledger_seconds(l, at_ns), what);
}

// Finds a token by its login (t0000042), its address or its number (42).
static bool find_token(const struct ledger *l, const char *text, uint32_t *token)
{
    char *end;

    if (!names_token(text, strcspn(text, "@"), token)) {
        unsigned long number = strtoul(text, &end, 10);
        *token = *end || number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
    }
    return *token < l->plan->token_count;
}

static bool draw_token(
    const struct ledger *l, uint32_t token, const struct options *o, struct err *e)
{
    struct buf text;

    buf_init(&text, 64u << 20);
    bool ok = (life_html(l, token, &text) ||
                  err_set(e, ERR_INTERNAL, "--html: the token's life is too long")) &&
              file_write("html", o->html, &text, e);
    buf_fini(&text);
    return ok;
}

static int print_token(const struct ledger *l, const struct options *o)
{
    char login[NAMES_MAX], at_the_end[200];
    uint32_t token;
    struct err e;

    if (!find_token(l, o->token, &token)) {
        err_set(&e, ERR_USAGE, "--token: '%.40s' is not one of the %zu tokens (t0000000 …)",
            o->token, l->plan->token_count);
        return cli_fail(&e);
    }
    names_login(login, token);
    printf("%s (%s)\n", login, token_kind_name(l->plan->kinds[token]));
    if (!life_each(l, token, print_event, NULL)) {
        err_memory(&e);
        return cli_fail(&e);
    }
    life_end(l, token, at_the_end, sizeof at_the_end);
    printf("  at the end   %s\n", at_the_end);
    if (!o->html)
        return EXIT_OK;
    if (!draw_token(l, token, o, &e))
        return cli_fail(&e);
    printf("  drawn in     %s\n", o->html);
    return EXIT_OK;
}

// --- judging ------------------------------------------------------------------------

// Judges one folder. Without a complete history the run is inconclusive, and the reason is shown:
// the command was right, but the run has no verdict.
static int check_folder(const char *folder, const struct options *o)
{
    struct replay *s = calloc(1, sizeof *s);
    struct err e = {0};
    int code;

    bool ok = (s || err_memory(&e)) && replay_scenario(s, folder, &e);
    if (ok && !replay_history(s, folder, &e)) {
        code = verdict_exit_code(VERDICT_INCONCLUSIVE);
        printf("%s: inconclusive: %s\n", s->scenario.name, e.text);
    } else if (ok && o->token) {
        code = print_token(&s->history.ledger, o);
    } else if (ok && replay_judge(s, &e)) {
        code = verdict_exit_code(s->result.verdict);
        print_verdict(s, folder);
    } else {
        code = cli_fail(&e);
    }
    if (s)
        replay_fini(s);
    free(s);
    return code;
}

int cli_check(const struct options *o)
{
    int worst = EXIT_OK;
    struct err e;

    if (!*o->args || (o->html && (!o->token || o->args[1]))) {
        err_set(&e, ERR_USAGE,
            *o->args ? "check: --html draws one token: name one result, and --token"
                     : "check: name a result folder");
        return cli_fail(&e);
    }
    for (char *const *folder = o->args; *folder; folder++)
        worst = cli_worse(worst, check_folder(*folder, o));
    return worst;
}
