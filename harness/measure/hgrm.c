#include "measure/hlog.h"

#include <math.h>

#define ROWS_PER_HALF 5

// Returns the percentile (0 to 100) of the row after the one at `level`. Each time that the
// distance to 100 is halved, so is the step; 100 when the step is too small to change a double.
static double next_level(double level)
{
    double halvings = floor(log2(100 / (100 - level))) + 1;
    double next = level + 100 / (ROWS_PER_HALF * exp2(halvings));

    return next > level ? next : 100;
}

// Appends the row of a percentile `level` (0 to 100). `seen`: number of values up to `value`.
static void put_level(struct buf *out, int64_t value, double unit, double level, int64_t seen)
{
    double share = level / 100;

    buf_printf(out, "%12.3f %2.12f %10" PRId64, (double)value / unit, share, seen);
    // At 100% the last column would be infinite, so it is left out.
    if (level < 100)
        buf_printf(out, " %14.2f", 1 / (1 - share));
    buf_append_char(out, '\n');
}

// Appends the rows up to the bucket of the largest value, and a last row at 100%.
static void put_levels(struct buf *out, const struct histogram *h, double unit)
{
    double level = 0;
    int64_t seen = 0;

    for (size_t i = 0; i < h->count_len && seen < h->total; i++) {
        if (h->counts[i] == 0)
            continue;
        int64_t value = histogram_highest_at(i);
        seen += h->counts[i];
        double reached = 100 * (double)seen / (double)h->total;
        bool last = seen == h->total;
        // In the bucket of the largest value, one row and the row at 100% stand for all levels that
        // are left.
        while (level <= reached && level < 100) {
            put_level(out, value, unit, level, seen);
            level = next_level(level);
            if (last)
                break;
        }
        if (last)
            put_level(out, value, unit, 100, seen);
    }
}

bool hgrm_write(struct buf *out, const struct histogram *h, double unit)
{
    // HdrHistogram gives the highest value of the last bucket as the max, rather than the exact
    // max.
    int64_t max = h->total > 0 ? histogram_highest_at(histogram_index(h->max)) : 0;

    buf_printf(
        out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    put_levels(out, h, unit);
    buf_printf(out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", histogram_mean(h) / unit,
        histogram_stddev(h) / unit);
    buf_printf(
        out, "#[Max     = %12.3f, Total count    = %12" PRId64 "]\n", (double)max / unit, h->total);
    // HdrHistogram counts the first two octaves as one bucket.
    buf_printf(out, "#[Buckets = %12zu, SubBuckets     = %12d]\n",
        h->count_len / HISTOGRAM_OCTAVE - 1, 2 * HISTOGRAM_OCTAVE);
    return !out->failed;
}
