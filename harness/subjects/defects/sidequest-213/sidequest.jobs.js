// The jobs of sidequest's consumer, which it finds by this file's name.
"use strict";
const { writeSync } = require("fs");
const { Job } = require(`${process.cwd()}/node_modules/sidequest`);

exports.Got = class Got extends Job {
    async run(id) {
        writeSync(1, `got ${id} 1\n`);
    }
};
