#include "lease/state.h"

#include <assert.h>

#define BIT(request) (1U << (request))
#define SET_UP                                                                                     \
    (BIT(REQUEST_SETTINGS) | BIT(REQUEST_SCHEMA) | BIT(REQUEST_LANES) | BIT(REQUEST_JOIN))
#define WORK                                                                                       \
    (BIT(REQUEST_LEASE) | BIT(REQUEST_ANSWER) | BIT(REQUEST_RENEW) | BIT(REQUEST_OTHERS) |         \
        BIT(REQUEST_FREE) | BIT(REQUEST_LEAVE) | BIT(REQUEST_BELL))

// For each state of the join: whether there is a session, whether it must be up, whether there may
// be a second session, and which requests may be in flight.
static const struct {
    bool session, up, probe;
    unsigned requests;
} joins[] = {
    [JOIN_BACK_OFF] = {0, 0, 0, 0},
    [JOIN_CONNECT] = {1, 0, 0, 0},
    [JOIN_GREET] = {1, 1, 1, BIT(REQUEST_SELF)},
    [JOIN_ASK] = {1, 1, 0, SET_UP},
    // One request of the set-up may still be under way, because it follows the join.
    [JOIN_DONE] = {1, 1, 0, WORK | BIT(REQUEST_SETTINGS)},
};

static void validate_session(const struct leased *l)
{
    const struct join *j = &l->join;
    const struct session *s = &l->link.session;

    (void)j; // unused in a build without assertions
    (void)s;
    (void)joins;
    assert(j->state <= JOIN_DONE);
    assert((s->conn != NULL) == joins[j->state].session);
    assert(s->up || !joins[j->state].up);
    assert(!l->link.pooler.probe.conn || joins[j->state].probe);
    assert(j->recorded || j->state != JOIN_DONE);
    for (enum request r = 0; r < REQUESTS; r++)
        assert(!leased_awaits(l, r) || (joins[j->state].requests & BIT(r)));
}

static void validate_lines(const struct leased *l)
{
    const struct sender *s = &l->sender;
    int ready = flight_in(&l->flight, FLIGHT_READY), out = flight_in(&l->flight, FLIGHT_OUT);

    (void)s; // unused in a build without assertions
    (void)ready;
    (void)out;
    flight_validate(&l->flight, s->numbers);
    outbox_validate(&l->outbox);
    assert(ready <= 1 && ready + out <= (int)l->config->leased.in_flight);
    assert(!leased_awaits(l, REQUEST_LEASE) || (ready == 0 && !s->writing));
    assert(l->outbox.sent == 0 || leased_awaits(l, REQUEST_ANSWER));
    assert(!s->writing || s->writing->state == FLIGHT_OUT || s->writing->state == FLIGHT_OVER);
}

static void validate_sender(const struct leased *l)
{
    const struct sender *s = &l->sender;

    switch (s->state) {
    case SENDER_AWAY:
        assert(s->command && s->child.pid == 0 && s->in == -1 && !s->writing);
        assert(flight_in(&l->flight, FLIGHT_OUT) == 0);
        break;
    case SENDER_HERE:
        assert((s->child.pid > 0) == (s->command != NULL));
        assert(s->in >= 0 && (!s->command || s->in == s->child.out));
        assert(!s->writing || !output_idle(&s->output));
        break;
    case SENDER_ENDED:
        assert(s->child.pid == 0 && s->in == -1 && !s->writing);
        assert(l->ending.step != STOP_NOT);
        break;
    }
}

void leased_validate(const struct leased *l)
{
    validate_session(l);
    validate_lines(l);
    // After an error the sender's members may not fit each other until the step RETURNING is done.
    if (l->ending.step != STOP_RETURNING)
        validate_sender(l);
    assert(l->ending.step != STOP_NOT || (l->ending.exit == COLLECTOR_OK && !l->ending.returned));
    assert(l->ending.step != STOP_LEAVING || l->sender.state == SENDER_ENDED);
    assert(l->ending.step != STOP_LEAVING || flight_in(&l->flight, FLIGHT_OUT) == 0);
}
