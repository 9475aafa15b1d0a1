// mailproof check: judges stored runs again from their histories, without a
// server. With --token: the life of one token.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/replay.h"
#include "plan/names.h"

// --- telling ------------------------------------------------------------------------

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

static void print_event(const struct ledger *l, int64_t ns, const char *what)
{
    if (ns != 0 && ns != CLOCK_NEVER)
        printf("  %9.3f s  %s\n", ledger_seconds(l, ns), what);
}

static void print_deliveries(const struct ledger *l, uint32_t token)
{
    for (size_t i = 0; i < l->log->delivery_count; i++) {
        const struct delivery *d = &l->log->deliveries[i];
        if (d->token != token)
            continue;
        const struct line_record *line = &l->log->lines[d->line];
        const struct process_record *p = &l->log->processes[line->process];
        printf("  %9.3f s  read from collector %d (pid %d), line of %u tokens%s%s%s\n",
            ledger_seconds(l, line->read_ns), p->instance, (int)p->pid, line->tokens,
            line->state == LINE_WHOLE ? "" : ", torn", d->flags & DELIVERY_FORGED ? ", forged" : "",
            d->flags & DELIVERY_NAMED ? ", only named" : "");
    }
}

// Faults from a second before the token was meant to be until it was read.
static void print_faults(const struct ledger *l, uint32_t token)
{
    int64_t from_ns = ledger_intended_ns(l, token) - NS_PER_S;
    int64_t until_ns = clock_min(ledger_read_ns(l, token), l->drain_end_ns);

    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        if (f->began_ns && f->ended_ns >= from_ns && f->began_ns <= until_ns)
            printf("  %9.3f s  fault %s, until %.3f s: %s\n", ledger_seconds(l, f->began_ns),
                f->spec->verb->name, ledger_seconds(l, f->ended_ns), f->evidence);
    }
}

static const char *outcome_text(const struct ledger *l, uint32_t token)
{
    switch (ledger_txn(l, token)->outcome) {
    case TXN_COMMITTED:
        return "COMMIT acknowledged";
    case TXN_ROLLED_BACK:
        return "rolled back";
    case TXN_UNKNOWN:
        return ledger_committed(l, token) ? "no answer; found in the database afterwards"
                                          : "no answer; not in the database afterwards";
    default:
        return "never sent";
    }
}

// What is shared is taken first, and confirmed when it is out.
static const char *where_it_waits(const struct ledger *l, uint8_t flags)
{
    if (check_shares(l->scenario))
        return flags & TOKEN_UNMARKED ? ", not confirmed" : "";
    return flags & TOKEN_WAITING ? ", beyond the cursor" : "";
}

static int print_token(const struct ledger *l, const char *text)
{
    char *end, login[NAMES_MAX];
    uint32_t token;

    if (!names_token(text, strcspn(text, "@"), &token)) {
        unsigned long number = strtoul(text, &end, 10);
        token = *end || number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
    }
    if (token >= l->plan->token_count) {
        fprintf(stderr, "mailproof: --token: '%.40s' is none of the %zu tokens (t0000000 …)\n",
            text, l->plan->token_count);
        return EXIT_USAGE;
    }
    const struct txn_record *txn = ledger_txn(l, token);
    const struct ledger_token *t = &l->tokens[token];
    names_login(login, token);
    printf("%s (%s)\n", login, token_kind_name(l->plan->kinds[token]));
    print_event(l, ledger_intended_ns(l, token), "intended");
    print_event(l, txn->sent_ns, "insert sent");
    print_event(l, txn->commit_ns, "COMMIT or ROLLBACK sent");
    print_event(l, txn->ended_ns, outcome_text(l, token));
    print_faults(l, token);
    print_deliveries(l, token);
    printf("  at the end   %s%s%s, %u deliveries\n",
        t->flags & TOKEN_PRESENT ? "in the database" : "not in the database",
        t->flags & TOKEN_DEAD_LETTER ? ", in dead_letters" : "", where_it_waits(l, t->flags),
        t->deliveries);
    return EXIT_OK;
}

// --- judging ------------------------------------------------------------------------

// A folder without a whole history is a run without a verdict, not a wrong
// command: inconclusive, with the reason.
static int check_folder(const char *folder, const struct options *o)
{
    struct replay *s = calloc(1, sizeof *s);
    struct err e = {0};
    int code;

    bool ok = (s || err_set(&e, ERR_INTERNAL, "out of memory")) && replay_scenario(s, folder, &e);
    if (ok && !replay_history(s, folder, &e)) {
        code = verdict_exit_code(VERDICT_INCONCLUSIVE);
        printf("%s: inconclusive: %s\n", s->scenario.name, e.text);
    } else if (ok && o->token) {
        code = print_token(&s->history.ledger, o->token);
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

    if (!*o->args) {
        err_set(&e, ERR_USAGE, "check: name a result folder");
        return cli_fail(&e);
    }
    for (char *const *folder = o->args; *folder; folder++)
        worst = cli_worse(worst, check_folder(*folder, o));
    return worst;
}
