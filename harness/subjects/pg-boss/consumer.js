// A worker, after the first example of pg-boss's documentation: consumer.js MODE. With the mode
// "schema" it only makes its tables and its queue; with "notify" new jobs wake it by NOTIFY.
"use strict";
const { handle } = require("../answers");
const { start } = require("./boss");

const mode = process.argv[2];
const work = { batchSize: 200, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5, includeMetadata: true };

async function main() {
    const boss = await start({ superviseIntervalSeconds: 2, monitorIntervalSeconds: 2, useListenNotify: mode === "notify" });
    if (mode === "schema") {
        // Both modes use one queue: without useListenNotify nobody hears its notices.
        await boss.createQueue("q", { retryLimit: 10, retryDelay: 1, expireInSeconds: 5, notify: true });
        return boss.stop({ graceful: false });
    }
    process.on("SIGTERM", () => boss.stop().then(() => process.exit(0)));
    await boss.work("q", work, async (jobs) => {
        // A batch fails as a whole, so a handler that fails lets its own job fail.
        await Promise.all(jobs.map((job) => handle(job.data.id, job.retryCount + 1).catch((error) => boss.fail("q", job, error))));
    });
}

main().catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
});
