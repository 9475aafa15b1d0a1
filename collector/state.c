#include "state.h"

#define TO(state) (1U << (state))

static const struct {
    const char *name;
    const char *doing;
    const char *does;
    unsigned leads;
} states[STATES] = {
    [BACK_OFF] = {"back off", "waiting to reconnect",
        "waits 10 to 100 ms when somebody ended the session, up to 400 ms when the server refuses, "
        "or up to 5 s when the server is silent or a person has to act, with jitter",
        TO(CONNECT)},
    [CONNECT] = {"connect", "connecting", "connects", TO(SET_UP)},
    [SET_UP] = {"set up", "setting up a session",
        "asks whether a pooler lends the session to others, sends the set-up and waits for the "
        "answers",
        TO(STAND_BY)},
    [STAND_BY] = {"stand by", "standing by",
        "polls for the queue's lock, claims the queue, asks what is still in doubt",
        TO(SERVE) | TO(FETCH)},
    [SERVE] = {"serve", "serving lines",
        "where several collect: takes lines, settles those that are written or answered, watches "
        "the "
        "other collectors",
        0},
    [FETCH] = {"fetch", "reading a batch",
        "asks for what is left over, then for a batch; decides: a line, nothing but rows to pass, "
        "or not yet",
        TO(PAY) | TO(WRITE) | TO(PASS) | TO(WAIT)},
    [WAIT] = {"wait", "waiting for tokens",
        "sleeps until the window fires, there is budget again, or a health check is due",
        TO(FETCH)},
    [PAY] = {"pay", "paying for a line",
        "only with a budget: pays for the line's tokens, and cuts the line when only a part of "
        "them "
        "is granted; when none is, gives back what was taken",
        TO(WRITE) | TO(FETCH) | TO(STALL) | TO(WAIT)},
    [WRITE] = {"write", "writing a line",
        "gives the line to stdout, as fast as it is taken; a batch that is too old to be begun is "
        "read again",
        TO(PASS) | TO(STALL) | TO(FETCH)},
    [STALL] = {"stall", "waiting for the reader",
        "the reader takes nothing: gives back what was taken, and waits for the reader", TO(FETCH)},
    [PASS] = {"pass", "moving the cursor",
        "moves the cursor behind the batch, or confirms its delivery; the next read travels in the "
        "same trip, or went ahead",
        TO(FETCH) | TO(WAIT)},
};

const char *state_doing(enum state s)
{
    return states[s].doing;
}

bool state_leads(enum state from, enum state to)
{
    return from == to || to == BACK_OFF || (states[from].leads & TO(to));
}

void state_markdown(FILE *out)
{
    fprintf(out, "| state | does | leads to |\n|---|---|---|\n");
    for (int i = 0; i < STATES; i++) {
        const char *comma = "";
        fprintf(out, "| %s | %s | ", states[i].name, states[i].does);
        for (int to = 0; to < STATES; to++)
            if (states[i].leads & TO(to)) {
                fprintf(out, "%s%s", comma, states[to].name);
                comma = ", ";
            }
        fprintf(out, " |\n");
    }
}
