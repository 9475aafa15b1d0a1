// Reads "put N", and answers "put-ok N" when send() has committed the job. It does not answer a put
// that fails.
"use strict";
const { writeSync } = require("fs");
const { createInterface } = require("readline");
const { start } = require("../pg-boss/boss");

async function main() {
    const boss = await start({ migrate: false, supervise: false, schedule: false });
    createInterface({ input: process.stdin }).on("line", (line) => {
        const id = Number(line.split(" ")[1]);
        boss.send("q", { id }).then(
            () => writeSync(1, `put-ok ${id}\n`),
            (error) => process.stderr.write(`put ${id}: ${error.message}\n`),
        );
    });
}

main().catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
});
