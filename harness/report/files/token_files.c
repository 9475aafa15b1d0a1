// Writes the history of every token for other programs. tokens.csv has a row for each token with
// its first delivery, and tokens.jsonl an object for each token with all deliveries. Times are
// seconds since the load began. The time of an event that never happened is empty or null, and so
// is the intended time of a closed loop, with the latency from it.
#include <jansson.h>
#include <math.h>

#include "plan/names.h"
#include "report/report.h"

// The deliveries by token. `at` holds their indexes in the log: those of token t stand from
// at[from[t]] up to, but not including, at[from[t + 1]].
struct deliveries {
    uint32_t *from, *at;
};

// Sorts the deliveries of planned tokens: by token, then in the log's order. Call deliveries_fini.
static void deliveries_make(struct deliveries *d, const struct ledger *l)
{
    const struct subject_log *log = l->log;
    const size_t tokens = l->plan->token_count;

    d->from = memory_zeroed(tokens + 1, sizeof *d->from);
    d->at = memory_zeroed(log->delivery_count, sizeof *d->at);
    // First from[t] is the number of t's deliveries, then the end of their part of `at`.
    for (size_t i = 0; i < log->delivery_count; i++) {
        if (log->deliveries[i].token < tokens)
            d->from[log->deliveries[i].token]++;
    }
    for (size_t t = 1; t <= tokens; t++)
        d->from[t] += d->from[t - 1];
    // Each part is filled from its end, which moves from[t] to its beginning.
    for (size_t i = log->delivery_count; i-- > 0;) {
        if (log->deliveries[i].token < tokens)
            d->at[--d->from[log->deliveries[i].token]] = (uint32_t)i;
    }
}

static void deliveries_fini(struct deliveries *d)
{
    free(d->from);
    free(d->at);
}

static const char *txn_outcome_name(enum txn_outcome outcome)
{
    static const char *const names[] = {[TXN_NOT_SENT] = "not_sent",
        [TXN_COMMITTED] = "committed",
        [TXN_ROLLED_BACK] = "rolled_back",
        [TXN_UNKNOWN] = "unknown",
        [TXN_NOT_NEEDED] = "not_needed"};

    return names[outcome];
}

static const char *line_state_name(enum line_state state)
{
    return state == LINE_WHOLE ? "whole" : state == LINE_TORN ? "torn" : "tail";
}

static const char *reply_name(enum reply reply)
{
    static const char *const names[REPLIES] = {
        NULL, "sent", "transient", "permanent", "never", "died"};

    return names[reply];
}

// Returns seconds since the load began, or NAN for an event that never happened.
static double event_s(const struct ledger *l, int64_t ns)
{
    return ns == 0 || ns == CLOCK_NEVER ? NAN : ledger_seconds(l, ns);
}

// Returns when the insert was intended; NAN for one of a closed loop.
static double intended_s(const struct ledger *l, uint32_t token)
{
    return ledger_is_closed_loop(l, token) ? NAN : event_s(l, ledger_intended_ns(l, token));
}

// --- rows ---------------------------------------------------------------------------------

static void put_number(FILE *out, double value)
{
    fputc(',', out);
    if (!isnan(value))
        fprintf(out, "%.6f", value);
}

// Writes a comma and a text in quotes, as CSV asks: a quote inside of it is doubled.
static void put_quoted(FILE *out, const char *text)
{
    fputs(",\"", out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

// Writes the last five columns, which are empty for a token that was never delivered.
static void put_first_delivery(const struct ledger *l, uint32_t token, FILE *out)
{
    int64_t read_ns = ledger_read_ns(l, token);

    if (read_ns == CLOCK_NEVER) {
        fputs(",,,,,", out);
        return;
    }
    const struct line_record *line = &l->log->lines[l->tokens[token].first_line];
    put_number(out, ledger_seconds(l, read_ns));
    put_number(out, 1e3 * (ledger_seconds(l, read_ns) - intended_s(l, token)));
    fprintf(out, ",%d,%u,%u", l->log->processes[line->process].instance,
        l->tokens[token].first_line, line->tokens);
}

static void put_token_row(const struct ledger *l, uint32_t token, FILE *out)
{
    const struct txn_record *txn = ledger_txn(l, token);
    const struct ledger_token *t = &l->tokens[token];
    char login[NAMES_MAX];

    names_login(login, token);
    fprintf(out, "%u,%s,%s", token, login, token_kind_name(l->plan->kinds[token]));
    put_quoted(out, l->scenario->load[l->plan->txns[l->txn_of[token]].phase].name);
    fprintf(out, ",%u", l->txn_of[token]);
    put_number(out, intended_s(l, token));
    put_number(out, event_s(l, txn->sent_ns));
    put_number(out, event_s(l, txn->commit_ns));
    put_number(out, event_s(l, txn->ended_ns));
    fprintf(out, ",%s,%d,%d,%d,%u", txn_outcome_name(txn->outcome), ledger_committed(l, token),
        (t->flags & TOKEN_PRESENT) != 0, (t->flags & TOKEN_DEAD_LETTER) != 0, t->deliveries);
    put_first_delivery(l, token, out);
    fputc('\n', out);
}

static bool write_csv(const struct report *r, FILE *out, struct err *e)
{
    (void)e; // folder_finish finds out when a write has failed
    fputs("token,login,kind,phase,transaction,intended_s,sent_s,commit_sent_s,answered_s,outcome,"
          "committed,in_database,in_dead_letters,deliveries,read_s,latency_ms,collector,line,"
          "line_tokens\n",
        out);
    for (uint32_t token = 0; token < r->ledger->plan->token_count; token++)
        put_token_row(r->ledger, token, out);
    return true;
}

// --- objects ------------------------------------------------------------------------------

static json_t *token_number(double value)
{
    return isnan(value) ? json_null() : json_real(rint(value * 1e6) / 1e6);
}

static json_t *delivery_json(const struct ledger *l, const struct delivery *d)
{
    const struct line_record *line = &l->log->lines[d->line];
    const struct process_record *p = &l->log->processes[line->process];

    return json_pack("{s:o, s:i, s:i, s:I, s:I, s:s, s:b, s:b, s:s?, s:o}", "read_s",
        token_number(ledger_seconds(l, line->read_ns)), "collector", p->instance, "pid",
        (int)p->pid, "line", (json_int_t)d->line, "line_tokens", (json_int_t)line->tokens,
        "line_state", line_state_name(line->state), "forged", (d->flags & DELIVERY_FORGED) != 0,
        "only_named", (d->flags & DELIVERY_NAMED) != 0, "reply", reply_name((enum reply)d->reply),
        "replied_s", token_number(event_s(l, d->replied_ns)));
}

// Returns a token with all of its deliveries; NULL for a phase whose name is not UTF-8.
static json_t *token_json(const struct ledger *l, uint32_t token, const struct deliveries *d)
{
    const struct txn_record *txn = ledger_txn(l, token);
    const struct ledger_token *t = &l->tokens[token];
    const struct change_record *record;
    const struct plan_change *change = ledger_change(l, token, &record);
    json_t *list = json_array();
    char login[NAMES_MAX];

    names_login(login, token);
    for (uint32_t i = d->from[token]; i < d->from[token + 1]; i++)
        json_array_append_new(list, delivery_json(l, &l->log->deliveries[d->at[i]]));
    return json_pack("{s:I, s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:s, s:b, s:b, s:b, s:s?, s:o, "
                     "s:o}",
        "token", (json_int_t)token, "login", login, "kind", token_kind_name(l->plan->kinds[token]),
        "phase", l->scenario->load[l->plan->txns[l->txn_of[token]].phase].name, "transaction",
        (json_int_t)l->txn_of[token], "intended_s", token_number(intended_s(l, token)), "sent_s",
        token_number(event_s(l, txn->sent_ns)), "commit_sent_s",
        token_number(event_s(l, txn->commit_ns)), "answered_s",
        token_number(event_s(l, txn->ended_ns)), "outcome", txn_outcome_name(txn->outcome),
        "committed", ledger_committed(l, token), "in_database", (t->flags & TOKEN_PRESENT) != 0,
        "in_dead_letters", (t->flags & TOKEN_DEAD_LETTER) != 0, "change",
        change ? change_kind_name((enum change_kind)change->kind) : NULL, "changed_s",
        token_number(event_s(l, ledger_changed_ns(l, token))), "deliveries", list);
}

static bool write_jsonl(const struct report *r, FILE *out, struct err *e)
{
    struct deliveries d FREED_BY(deliveries_fini) = {0};
    bool ok = true;

    deliveries_make(&d, r->ledger);
    for (uint32_t token = 0; ok && token < r->ledger->plan->token_count; token++) {
        json_t *object FREED_BY(json_decrefp) = token_json(r->ledger, token, &d);
        ok = object && json_dumpf(object, out, JSON_COMPACT | JSON_REAL_PRECISION(15)) == 0;
        if (!ok && ferror(out)) // such as a full disk
            err_sys(e, ERR_SYSTEM, "cannot write tokens.jsonl");
        else if (!ok)
            err_set(e, ERR_INTERNAL, "cannot make the JSON of token %u", token);
        fputc('\n', out);
    }
    return ok;
}

// --- files --------------------------------------------------------------------------------

// Has `write` fill a file of the result folder. The file exists only if that succeeds.
static bool write_tokens_file(const struct report *r, const char *name,
    bool (*write)(const struct report *, FILE *, struct err *), struct err *e)
{
    struct folder_file file;

    if (!folder_begin(r->folder->path, name, &file, e))
        return false;
    // The file must be closed even after an error.
    bool ok = write(r, file.out, e);
    return folder_finish(&file, ok, e) && ok;
}

bool report_write_tokens(const struct report *r, struct err *e)
{
    return write_tokens_file(r, "tokens.csv", write_csv, e) &&
           write_tokens_file(r, "tokens.jsonl", write_jsonl, e);
}
