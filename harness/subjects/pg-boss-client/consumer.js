// Fetches jobs, and completes or fails each by itself. With the argument "schema" it only makes the tables and the queue.
"use strict";
const { writeSync } = require("fs");
const { handle } = require("../answers");
const { start } = require("../pg-boss/boss");

async function work(boss, job) {
    try {
        await handle(job.data.id, job.retryCount + 1);
    } catch {
        return boss.fail("q", job.id);
    }
    await boss.complete("q", job.id);
    writeSync(1, `done ${job.data.id}\n`);
}

async function main() {
    const boss = await start({ superviseIntervalSeconds: 2, maintenanceIntervalSeconds: 2, monitorIntervalSeconds: 2 });
    if (process.argv[2] === "schema") {
        await boss.createQueue("q", { retryLimit: 20, retryDelay: 1, expireInSeconds: 5 });
        return boss.stop({ graceful: false });
    }
    process.on("SIGTERM", () => process.exit(0));
    for (;;) {
        const jobs = await boss.fetch("q", { batchSize: 50, includeMetadata: true }).catch(() => []);
        for (const job of jobs || []) work(boss, job).catch((error) => process.stderr.write(`${error.message}\n`));
        if (!jobs?.length) await new Promise((wake) => setTimeout(wake, 500));
    }
}

main().catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
});
