// Fetches jobs, and completes or fails each by itself. With the argument "schema" it only makes the tables and the queue.
"use strict";
const { writeSync } = require("fs");
const { handle } = require("../answers");
const { start } = require("../pg-boss/boss");

async function work(boss, job) {
    try {
        await handle(job.data.id, job.retryCount + 1);
    } catch (error) {
        return boss.fail("q", job, error);
    }
    // The job itself in place of its id: an attempt that has expired ends nothing.
    const { affected } = await boss.complete("q", job);
    if (affected) writeSync(1, `done ${job.data.id}\n`);
}

async function main() {
    const boss = await start({ superviseIntervalSeconds: 2, monitorIntervalSeconds: 2 });
    if (process.argv[2] === "schema") {
        await boss.createQueue("q", { retryLimit: 10, retryDelay: 1, expireInSeconds: 5 });
        return boss.stop({ graceful: false });
    }
    const running = new Set();
    let stopping = false;
    process.on("SIGTERM", () => (stopping = true));
    while (!stopping) {
        const jobs = await boss.fetch("q", { batchSize: 200, includeMetadata: true }).catch(() => []);
        for (const job of jobs || []) {
            const handled = work(boss, job).catch((error) => process.stderr.write(`${error.message}\n`));
            running.add(handled);
            handled.then(() => running.delete(handled));
        }
        if (!jobs?.length) await new Promise((wake) => setTimeout(wake, 500));
    }
    // stop() waits for the handlers of work(), but knows of none here.
    await Promise.all(running);
    await boss.stop();
    process.exit(0);
}

main().catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
});
