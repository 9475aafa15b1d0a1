#include "explore/search_page.h"

#include "explore_page.h"
#include "report/escape.h"
#include "report/pages/template.h"

const char *page_collector(const struct page *p)
{
    if (*p->collector)
        return p->collector;
    return p->limits->ours ? "the reference collector" : "the collector that the scenario names";
}

static void print_explore_title(const struct page *p, struct buf *out)
{
    buf_printf(out, "explore, seed %llu: ", (unsigned long long)p->seed);
    append_escaped(out, page_collector(p));
}

// True when this fault took effect in a draw that was judged.
static bool is_verb_covered(const struct page *p, size_t verb)
{
    unsigned draws = 0;

    for (int m = 0; m < MODES; m++)
        draws += p->journal->coverage.modes[m][verb];
    return draws > 0;
}

static void print_share(struct buf *out, const char *what, struct coverage_share share)
{
    buf_printf(out, "%zu of %zu %s", share.seen, share.of, what);
}

// --- the lines for the terminal, parts of which the page has, too -------------------------

static void print_tried_counts(const struct page *p, struct buf *out)
{
    const struct journal *j = p->journal;

    buf_printf(out,
        "%zu %s in %.0f s: %zu pass, %zu violated, %zu inconclusive, %zu missed, "
        "%zu not judged; %zu %s",
        j->tried, NOUN(j->tried, "draw", "draws"), j->spent_s, j->verdicts[VERDICT_PASS],
        j->verdicts[VERDICT_VIOLATED], j->verdicts[VERDICT_INCONCLUSIVE],
        j->verdicts[VERDICT_MISSED], j->unjudged, j->failure_count,
        NOUN(j->failure_count, "failure", "failures"));
}

static void print_coverage(const struct page *p, struct buf *out)
{
    const struct coverage *c = &p->journal->coverage;

    print_share(out, "pairs of fault and state", coverage_states(c, p->limits));
    buf_append_str(out, ", ");
    print_share(out, "pairs of overlapping faults", coverage_pairs(c, p->limits));
    buf_append_str(out, ", ");
    print_share(out, "pairs of fault and mode", coverage_modes(c, p->limits));
}

// Prints the command that repeats a failure, to be called from the same folder as the search. A
// collector that was given on the command line is repeated here, because the scenario does not name
// it and the run would otherwise judge another one.
static void print_found_command(const struct page *p, const struct failure *f, struct buf *out)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", p->dir, f->file);
    buf_append_str(out, "mailproof run ");
    append_word(out, path);
    if (*p->collector) {
        buf_append_str(out, " --collector ");
        append_word(out, p->collector);
    }
    // A conninfo may hold a password, so the user must fill it in.
    if (p->conninfo)
        buf_append_str(out, " --postgres CONNINFO");
}

bool page_text(const struct page *p, struct buf *out)
{
    buf_append_str(out, "  tried       ");
    print_tried_counts(p, out);
    buf_append_str(out, "\n  covered     ");
    print_coverage(p, out);
    buf_append_str(out, "\n");
    // If the part of some machine is missing, failures may be missing, too, so say that.
    if (*record_gaps(&p->journal->record))
        buf_printf(out, "  incomplete  %s\n", record_gaps(&p->journal->record));
    for (size_t i = 0; i < p->journal->failure_count; i++) {
        const struct failure *f = &p->journal->failures[i];
        char broken[200];
        tried_broken_text(f->broken, broken, sizeof broken);
        buf_printf(out, "  found       %s: %s, after %.0f s; draw %llu, ", f->name, broken,
            f->found_s, (unsigned long long)f->draw);
        // A signal may end the search before the draw is run again.
        if (f->asked == 0)
            buf_append_str(out, "not run again");
        else
            buf_printf(out, "%s (%u of %u)", f->confirmed ? "repeated" : "could not be repeated",
                f->confirmed, f->asked);
        buf_append_str(out, "; seen in ");
        if (f->again == 0)
            buf_append_str(out, "no other draw");
        else
            buf_printf(out, "%u %s", f->again, NOUN(f->again, "other draw", "other draws"));
        buf_append_str(out, "\n    repeat    ");
        print_found_command(p, f, out);
        buf_append_char(out, '\n');
    }
    return buf_str(out);
}

// --- the page ---------------------------------------------------------------------------

// Prints one failure: what broke, in which mode, whether it failed again, and how to repeat it.
static void print_failure(const struct page *p, const struct failure *f, struct buf *out)
{
    char broken[200];
    struct buf command FREED_BY(buf_fini) = BUF_INIT((size_t)4 * PATH_MAX);

    tried_broken_text(f->broken, broken, sizeof broken);
    // The name may be the broken invariant alone; do not print it twice.
    bool same = strcmp(f->name, broken) == 0;
    buf_printf(out,
        "<h2 class=\"violated\">%s%s%s</h2>\n<p>%s mode, found after %.0f s (draw %llu). ", f->name,
        same ? "" : ": ", same ? "" : broken, mode_name(f->mode), f->found_s,
        (unsigned long long)f->draw);
    if (f->confirmed > 0)
        buf_printf(out, "It failed again %u of %u times", f->confirmed, f->asked);
    else if (f->asked > 0)
        buf_printf(out, "It could not be repeated (0 of %u)", f->asked);
    else
        buf_append_str(out, "It was not run again");
    if (f->again > 0)
        buf_printf(
            out, ", and was seen in %u %s", f->again, NOUN(f->again, "other draw", "other draws"));
    buf_append_str(out, ".</p>\n<p>");
    append_escaped(out, f->example);
    buf_append_str(out, "</p>\n<pre>");
    print_found_command(p, f, &command);
    if (buf_str(&command))
        append_escaped(out, command.data);
    buf_append_str(out, "</pre>\n");
}

static void print_found_failures(const struct page *p, struct buf *out)
{
    if (p->journal->failure_count == 0)
        buf_append_str(out, "<p>Nothing failed.</p>");
    for (size_t i = 0; i < p->journal->failure_count; i++)
        print_failure(p, &p->journal->failures[i], out);
}

// Names the faults that the limits allow and that have not taken effect yet in a judged draw; they
// have no rows in the tables.
static void print_uncovered(const struct page *p, struct buf *out)
{
    size_t count = 0;

    for (size_t v = 0; v < VERB_COUNT; v++) {
        if (draw_allows(p->limits, v) && !is_verb_covered(p, v))
            buf_printf(out, "%s%s", count++ ? ", " : "Without effect so far: ", verbs[v].name);
    }
    if (count > 0)
        buf_append_char(out, '.');
}

static void print_count_cell(struct buf *out, unsigned count)
{
    buf_printf(out, "<td class=%s>%u", count ? "seen" : "none", count);
}

// Prints for each fault how often it met each state of the collector's connection; the first number
// counts the faults whose state was not seen.
static void print_state_table(const struct page *p, struct buf *out)
{
    buf_append_str(out, "<table><tr><th>fault");
    for (int state = 0; state < EXCHANGE_STATES; state++)
        buf_printf(out, "<th>%s", exchange_name((enum exchange_state)state));
    buf_append_str(out, "</tr>");
    for (size_t v = 0; v < VERB_COUNT; v++) {
        // Leave out rows of zeros, which would hide the others. print_uncovered names those of
        // these faults that may be drawn.
        if (!is_verb_covered(p, v))
            continue;
        // Without the colour of print_count_cell, because a state that was not seen covers nothing.
        buf_printf(out, "<tr><td>%s<td>%u", verbs[v].name,
            p->journal->coverage.states[v][EXCHANGE_UNSEEN]);
        for (int state = EXCHANGE_NONE; state < EXCHANGE_STATES; state++)
            print_count_cell(out, p->journal->coverage.states[v][state]);
        buf_append_str(out, "</tr>");
    }
    buf_append_str(out, "</table>");
}

// Prints for each pair of faults how often they overlapped.
static void print_pairs(const struct page *p, struct buf *out)
{
    buf_append_str(out, "<table class=pairs><tr><th>");
    for (size_t v = 0; v < VERB_COUNT; v++) {
        if (is_verb_covered(p, v))
            buf_printf(out, "<th class=up><span>%s</span>", verbs[v].name);
    }
    buf_append_str(out, "</tr>");
    for (size_t a = 0; a < VERB_COUNT; a++) {
        if (!is_verb_covered(p, a))
            continue;
        buf_printf(out, "<tr><td>%s", verbs[a].name);
        for (size_t b = 0; b < VERB_COUNT; b++) {
            if (is_verb_covered(p, b) && a < b)
                print_count_cell(out, p->journal->coverage.pairs[a][b]);
            // Each pair needs one cell only, so the other half of the square stays empty.
            else if (is_verb_covered(p, b))
                buf_append_str(out, "<td class=out>");
        }
        buf_append_str(out, "</tr>");
    }
    buf_append_str(out, "</table>");
}

// Prints for each fault how often it took effect in each mode. To compare with, the first row has
// the number of draws in each mode.
static void print_modes(const struct page *p, struct buf *out)
{
    const struct coverage *c = &p->journal->coverage;

    buf_append_str(out, "<table><tr><th>fault");
    for (int m = 0; m < MODES; m++)
        buf_printf(out, "<th>%s", mode_name((enum mode)m));
    buf_append_str(out, "</tr><tr><td>draws");
    for (int m = 0; m < MODES; m++)
        buf_printf(out, "<td>%u", c->draws[m]);
    buf_append_str(out, "</tr>");
    for (size_t v = 0; v < VERB_COUNT; v++) {
        if (!is_verb_covered(p, v))
            continue;
        buf_printf(out, "<tr><td>%s", verbs[v].name);
        for (int m = 0; m < MODES; m++)
            print_count_cell(out, c->modes[m][v]);
        buf_append_str(out, "</tr>");
    }
    buf_append_str(out, "</table>");
}

// Prints the reasons why draws were inconclusive or not judged.
static void print_reasons(const struct page *p, struct buf *out)
{
    if (p->journal->why_count == 0) {
        buf_append_str(out, "<p>Every draw came to a verdict.</p>");
        return;
    }
    buf_append_str(out, "<table><tr><th>first reason<th>draws</tr>");
    for (size_t i = 0; i < p->journal->why_count; i++) {
        buf_append_str(out, "<tr><td>");
        append_escaped(out, p->journal->whys[i].text);
        buf_printf(out, "<td>%u</tr>", p->journal->whys[i].count);
    }
    buf_append_str(out, "</table>");
}

static void print_summary(const struct page *p, struct buf *out)
{
    print_tried_counts(p, out);
    buf_append_str(out, ". Covered: ");
    print_coverage(p, out);
    buf_append_str(out, ".");
    if (*record_gaps(&p->journal->record))
        buf_printf(out, " Incomplete: %s.", record_gaps(&p->journal->record));
}

bool page_html(const struct page *p, struct buf *out)
{
    static const char *const marks[] = {
        "title", "summary", "failures", "never", "states", "pairs", "modes", "whys", NULL};
    static void (*const prints[])(const struct page *p, struct buf *out) = {print_explore_title,
        print_summary, print_found_failures, print_uncovered, print_state_table, print_pairs,
        print_modes, print_reasons};
    const char *rest = explore_page_page;

    // The part of the page at marks[i] is written by prints[i].
    for (int mark; (mark = template_next(out, &rest, marks)) != TEMPLATE_END;)
        prints[mark](p, out);
    return buf_str(out);
}
