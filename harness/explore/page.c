#include "explore/page.h"

#include <string.h>

#include "explore_page.h"
#include "report/escape.h"

static void print_title(const struct page *p, struct buf *out)
{
    buf_printf(out, "explore, seed %llu: ", (unsigned long long)p->head->seed);
    append_escaped(out, *p->head->collector ? p->head->collector : "the reference collector");
}

static bool is_drawn(const struct page *p, size_t verb)
{
    return draw_weight(&verbs[verb]) > 0 && (!p->limits->any_only || p->limits->only[verb]);
}

static void print_share(struct buf *out, const char *what, struct coverage_share share)
{
    buf_printf(out, "%zu of %zu %s", share.seen, share.of, what);
}

// --- in words ---------------------------------------------------------------------------

static void print_counts(const struct page *p, struct buf *out)
{
    const struct journal *j = p->journal;

    buf_printf(out,
        "%zu draws in %.0f s (%zu call%s): %zu pass, %zu violated, %zu inconclusive, %zu missed, "
        "%zu not judged; %zu failure%s",
        j->tried, p->spent_s, j->calls, j->calls == 1 ? "" : "s", j->verdicts[VERDICT_PASS],
        j->verdicts[VERDICT_VIOLATED], j->verdicts[VERDICT_INCONCLUSIVE],
        j->verdicts[VERDICT_MISSED], j->unjudged, j->failure_count,
        j->failure_count == 1 ? "" : "s");
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

bool page_text(const struct page *p, struct buf *out)
{
    buf_append_str(out, "  tried       ");
    print_counts(p, out);
    buf_append_str(out, "\n  covered     ");
    print_coverage(p, out);
    buf_append_str(out, "\n");
    for (size_t i = 0; i < p->journal->failure_count; i++) {
        const struct failure *f = &p->journal->failures[i];
        char broken[200];
        tried_broken_text(f->broken, broken, sizeof broken);
        buf_printf(out,
            "  found       %s: %s, after %.0f s; draw %llu, failed again %u of %u times, in %u "
            "further draw%s%s%s\n",
            f->name, broken, f->found_s, (unsigned long long)f->draw, f->confirmed, f->asked,
            f->again, f->again == 1 ? "" : "s", *f->file ? "; " : "", f->file);
    }
    return buf_str(out);
}

// --- tables -----------------------------------------------------------------------------

static void print_failures(const struct page *p, struct buf *out)
{
    if (p->journal->failure_count == 0)
        buf_append_str(out, "<p>Nothing.</p>");
    else
        buf_append_str(out, "<table><tr><th>name<th class=text>broken<th class=text>mode"
                            "<th>found after<th>draw<th>failed again<th>in further draws"
                            "<th class=text>scenario<th class=text>one case</tr>");
    for (size_t i = 0; i < p->journal->failure_count; i++) {
        const struct failure *f = &p->journal->failures[i];
        char broken[200];
        tried_broken_text(f->broken, broken, sizeof broken);
        buf_printf(out,
            "<tr><td>%s<td class=text>%s<td class=text>%s<td>%.0f s<td>%llu<td>%u of %u<td>%u"
            "<td class=text><a href=\"",
            f->name, broken, mode_name(f->mode), f->found_s, (unsigned long long)f->draw,
            f->confirmed, f->asked, f->again);
        append_url(out, f->file);
        buf_append_str(out, "\">");
        append_escaped(out, f->file);
        buf_append_str(out, "</a><td class=text>");
        append_escaped(out, f->example);
        buf_append_str(out, "</tr>");
    }
    if (p->journal->failure_count > 0)
        buf_append_str(out, "</table>");
}

static void print_cell(struct buf *out, unsigned count)
{
    buf_printf(out, "<td class=%s>%u", count ? "seen" : "none", count);
}

static void print_states(const struct page *p, struct buf *out)
{
    buf_append_str(out, "<table><tr><th>fault");
    for (int state = 0; state < EXCHANGE_STATES; state++)
        buf_printf(out, "<th>%s", exchange_name((enum exchange_state)state));
    buf_append_str(out, "</tr>");
    for (size_t v = 0; v < VERB_COUNT; v++) {
        if (!is_drawn(p, v))
            continue;
        buf_printf(out, "<tr><td>%s<td>%u", verbs[v].name,
            p->journal->coverage.states[v][EXCHANGE_UNSEEN]);
        for (int state = EXCHANGE_NONE; state < EXCHANGE_STATES; state++)
            print_cell(out, p->journal->coverage.states[v][state]);
        buf_append_str(out, "</tr>");
    }
    buf_append_str(out, "</table>");
}

static void print_pairs(const struct page *p, struct buf *out)
{
    buf_append_str(out, "<table class=pairs><tr><th>");
    for (size_t v = 0; v < VERB_COUNT; v++) {
        if (is_drawn(p, v))
            buf_printf(out, "<th class=up><span>%s</span>", verbs[v].name);
    }
    buf_append_str(out, "</tr>");
    for (size_t a = 0; a < VERB_COUNT; a++) {
        if (!is_drawn(p, a))
            continue;
        buf_printf(out, "<tr><td>%s", verbs[a].name);
        for (size_t b = 0; b < VERB_COUNT; b++) {
            if (is_drawn(p, b) && a < b)
                print_cell(out, p->journal->coverage.pairs[a][b]);
            else if (is_drawn(p, b))
                buf_append_str(out, "<td class=out>");
        }
        buf_append_str(out, "</tr>");
    }
    buf_append_str(out, "</table>");
}

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
        if (!is_drawn(p, v))
            continue;
        buf_printf(out, "<tr><td>%s", verbs[v].name);
        for (int m = 0; m < MODES; m++)
            print_cell(out, c->modes[m][v]);
        buf_append_str(out, "</tr>");
    }
    buf_append_str(out, "</table>");
}

static void print_whys(const struct page *p, struct buf *out)
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
    print_counts(p, out);
    buf_append_str(out, ". Covered: ");
    print_coverage(p, out);
    buf_append_str(out, ".");
}

bool page_html(const struct page *p, struct buf *out)
{
    static const struct {
        const char *mark;
        void (*print)(const struct page *p, struct buf *out);
    } parts[] = {{"{{title}}", print_title}, {"{{summary}}", print_summary},
        {"{{failures}}", print_failures}, {"{{states}}", print_states}, {"{{pairs}}", print_pairs},
        {"{{modes}}", print_modes}, {"{{whys}}", print_whys}};
    const char *rest = explore_page_page;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        rest = append_until(out, rest, parts[i].mark);
        parts[i].print(p, out);
    }
    return buf_append_str(out, rest) && buf_str(out);
}
