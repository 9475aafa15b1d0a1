#include "mailroom-sender/rate.h"

#include <fcntl.h>

#define DAY_S 86400

void rate_init(struct rate *r, double per_s, double burst, int64_t daily, int64_t now_ns)
{
    *r = (struct rate){
        .per_s = per_s, .burst = burst, .left = burst, .at_ns = now_ns, .daily = daily, .fd = -1};
}

bool rate_open(struct rate *r, const char *path, struct err *e)
{
    char text[64] = "";

    if (!path)
        return true;
    r->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (r->fd < 0)
        return err_sys(e, ERR_USAGE, "SENDER_STATE_FILE: %s cannot be opened", path);
    ssize_t len = pread(r->fd, text, sizeof text - 1, 0);
    if (len < 0)
        return err_sys(e, ERR_USAGE, "SENDER_STATE_FILE: %s cannot be read", path);
    if (len > 0 && (sscanf(text, "%" SCNd64 " %" SCNd64, &r->day, &r->today) != 2 || r->today < 0))
        return err_set(e, ERR_USAGE,
            "SENDER_STATE_FILE: %s does not hold a day and a count; remove it to count anew", path);
    return true;
}

void rate_close(struct rate *r)
{
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
}

// Adds to the bucket what the rate allows since the last refill.
static void refill(struct rate *r, int64_t now_ns)
{
    r->left += (double)(now_ns - r->at_ns) / (double)NS_PER_S * r->per_s;
    if (r->left > r->burst)
        r->left = r->burst;
    r->at_ns = now_ns;
}

int64_t rate_next_ns(struct rate *r, int64_t now_ns)
{
    if (r->per_s <= 0) // no limit
        return now_ns;
    refill(r, now_ns);
    if (r->left >= 1)
        return now_ns;
    // Rounded up, so that one whole mail may go at this time. At a rate near 0, 64 bits could not
    // hold the time of the next mail.
    double wait_s = (1 - r->left) / r->per_s;
    if (wait_s > 366.0 * DAY_S)
        wait_s = 366.0 * DAY_S;
    return now_ns + (int64_t)(wait_s * (double)NS_PER_S) + 1;
}

// Begins a new count if a new day has begun. If the clock was set back, the later day and its count
// stay.
static void turn_day(struct rate *r, int64_t wall_s)
{
    if (wall_s / DAY_S <= r->day)
        return;
    r->day = wall_s / DAY_S;
    r->today = 0;
}

bool rate_spent(struct rate *r, int64_t wall_s)
{
    turn_day(r, wall_s);
    return r->daily > 0 && r->today >= r->daily;
}

bool rate_count(struct rate *r, int64_t now_ns, int64_t wall_s, struct err *e)
{
    char text[64];

    if (r->per_s > 0) {
        refill(r, now_ns);
        r->left -= 1;
    }
    turn_day(r, wall_s);
    r->today++;
    if (r->fd < 0)
        return true;
    // The text has a fixed length, so that nothing of an older text remains after it.
    int len = snprintf(text, sizeof text, "%019" PRId64 " %019" PRId64 "\n", r->day, r->today);
    if (pwrite(r->fd, text, (size_t)len, 0) != len)
        return err_sys(e, ERR_SYSTEM, "SENDER_STATE_FILE: the day's count cannot be written");
    return true;
}
