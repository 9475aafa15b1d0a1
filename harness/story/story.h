// Stories: histories as text, one event a line. README.md has the words.
//
// A story is read into the same structs as a stored run, so all that judges or shows a run can do
// so with a story. What a line does not say has a default; `story_write` with `explain` writes all
// defaults as well.
#pragma once

#include "check/check.h"
#include "scenario/node.h"

// A line of a story that begins with => is a claim: it says what the checks must find.
struct claim {
    struct origin origin;
    enum { CLAIM_METRIC, CLAIM_JUDGED, CLAIM_VERDICT, CLAIM_SAYS } what;
    enum metric_id metric;
    enum verdict verdict;
    double number, of; // metric: `number` is its value, NAN: any above 0; judged: `number` is the
                       // judged amount, `of` the whole amount
    double excused[CAUSE_KINDS]; // judged: the amount that each cause excuses; -1: not said
    const char *says;            // says: a text that a finding or reason must contain
};

struct story {
    struct scenario scenario;
    struct history history; // borrows the scenario: the struct must stay where it is
    struct claim *claims;
    size_t claim_count;
    char **texts; // owned: what events and claims quote
    size_t text_count;
};

// Reads a story, and the stories that its `like` lines name. Errors (ERR_USAGE) name file, line and
// column.
MUST_USE bool story_read(struct story *t, const char *path, struct err *e);

// Reads the text of a story; `path` is the file's name in errors.
MUST_USE bool story_read_text(struct story *t, const char *text, const char *path, struct err *e);
void story_fini(struct story *t);

// True for the path of a story: it ends with .story.
bool story_is_path(const char *path);

// Compares the claims with the result. If there are claims, each invariant whose number none of
// them gives must hold. If none is about the verdict, that must be VERDICT_VIOLATED when a claim
// says that an invariant is broken, and otherwise VERDICT_PASS. Appends a line for each claim that
// does not hold, and returns true when all do.
bool story_holds(const struct story *t, const struct result *r, struct buf *differs);

// The part of a history that is written: a span of time, and what belongs to its tokens.
struct part {
    int64_t from_ns, until_ns; // on the run's clock
    uint32_t token;            // the token whose neighbourhood it is
    int64_t slack_ns;          // the slack of the whole run
    uint32_t number;           // the token's number in the text; story_write fills it in
};

// Appends a history, or with `part` a part of it, as a story. `explain` writes the defaults, too.
// Processes get new numbers. Tokens keep theirs unless there are too many for a story; then a
// comment says which token is which. False when the text does not fit `out`, or the settings cannot
// be written.
MUST_USE bool story_write(const struct scenario *s, const struct history *h, struct part *part,
    bool explain, struct buf *out);

// Appends claims that hold for a result: the broken invariants, and the verdict where these do not
// imply it.
void story_write_claims(const struct result *r, struct buf *out);

// Replaces the text in `out` by the first of ever larger neighbourhoods of a token in which at
// least the same invariants name the token as in the whole history. Fails with ERR_USAGE when no
// story can hold it, or when none names the token so.
MUST_USE bool story_of_token(const struct scenario *s, const struct history *h,
    const struct result *whole, uint32_t token, struct buf *out, struct err *e);
